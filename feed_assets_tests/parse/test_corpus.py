"""Feeds from other projects' test suites, when they lie beside the repository (`shared/corpus`).

Today 104 of the 105 documents with a stated number of entries give that number (the odd one is RDF in Netscape's
channel namespace). The floor is 98 %, which is 103 of them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from feed_assets.errors import NotAFeed
from feed_assets.model import ParsedFeed
from feed_assets.parse import parse_document

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FLOOR = 0.98

pytestmark = pytest.mark.skipif(not (CORPUS / "expectations.jsonl").is_file(), reason="there is no shared/corpus beside the repository")


@cache
def read(path: Path) -> ParsedFeed | None:
    try:
        return parse_document(path.read_bytes(), url="https://news.example/feed", headers={}, max_entries=100_000)
    except NotAFeed as refused:
        assert str(refused)
        return None


def test_no_document_raises_anything_but_not_a_feed() -> None:
    feeds = [feed for path in sorted(CORPUS.rglob("*")) if path.is_file() and (feed := read(path))]
    assert len(feeds) > 100


def test_nearly_all_documents_give_the_stated_number_of_entries() -> None:
    rows = [json.loads(line) for line in (CORPUS / "expectations.jsonl").read_text("utf-8").splitlines()]
    found = {row["path"]: feed.found if (feed := read(CORPUS / row["path"])) else None for row in rows}
    wrong = [f"{row['path']}: {row['entries']} stated, {found[row['path']]} found" for row in rows if found[row["path"]] != row["entries"]]
    assert 1 - len(wrong) / len(rows) >= FLOOR, "\n".join(wrong)
