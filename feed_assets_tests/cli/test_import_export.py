"""`feed import` and `feed export` on both engines: what goes out comes in again as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from feed_assets_tests.support.command_line import Run, assert_failed

CONFIGURED = (
    "feed_id",
    "url",
    "source_name",
    "root_domain",
    "enabled",
    "polling",
    "refresh_interval_minutes",
    "priority",
    "feed_group",
    "enforce_feed_domain",
    "error_policy",
)


def configured(run: Run) -> list[dict[str, Any]]:
    return [{name: feed[name] for name in CONFIGURED} for feed in run("feed", "list", "--json").json()]


@pytest.fixture
def three(both: Run) -> Run:
    """Feeds with something in every column."""
    all_options = "--id wire --name Wire --interval 30 --priority 7 --group press/wires --no-polling --disabled --enforce-domain"
    assert both("feed", "add", "https://wire.example/feed?a=1&b=%20", *all_options.split(), "--error-policy", "one_strike").code == 0
    assert both("feed", "add", "https://reader:pass@news.example/feed", "--id", "news", "--no-root-domain", "--no-fetch").code == 0
    assert both("feed", "add", "https://blog.example.org/ä", "--name", "Grüße & <Küsse>", "--no-fetch").code == 0
    return both


@pytest.mark.parametrize("name", ["feeds.opml", "feeds.yaml"])
def test_what_was_exported_is_imported_as_it_was(three: Run, tmp_path: Path, name: str) -> None:
    before, file = configured(three), tmp_path / name
    assert three("feed", "export", str(file)).out == f"wrote 3 feeds to {file}\n"
    assert three("feed", "import", str(file)).out == "0 added, 3 there already, 0 rejected\n"
    fresh = f"duckdb:///{tmp_path / 'elsewhere.duckdb'}"
    assert three("feed", "import", str(file), DATABASE_URL=fresh).out == "3 added, 0 there already, 0 rejected\n"
    after = [{name: feed[name] for name in CONFIGURED} for feed in three("feed", "list", "--json", DATABASE_URL=fresh).json()]
    assert after == before


def test_export_prints_opml_and_leaves_out_what_is_private_when_told(three: Run) -> None:
    text = three("feed", "export").out
    assert text.startswith("<?xml") and "reader:pass@" in text
    public = three("feed", "export", "--public").out
    assert "pass" not in public and "news.example/feed" in public
    assert three("feed", "export", "--format", "yaml", "--group", "press").out.count("url:") == 1
    assert_failed(three("feed", "export", "--format", "yaml", "--public"), 2, "--format opml")


def test_an_import_with_prune_deletes_what_the_file_does_not_have(three: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {id: news, url: 'https://reader:pass@news.example/feed', priority: 3}\n")
    assert three("feed", "import", str(file), "--prune").out == "0 added, 1 changed, 0 there already, 2 removed, 0 rejected\n"
    (left,) = configured(three)
    assert (left["feed_id"], left["priority"]) == ("news", 3)
    assert {feed["feed_id"] for feed in three("feed", "list", "--deleted", "--json").json()} == {"wire", "blog-example-org"}


def test_an_import_with_prune_deletes_nothing_when_a_row_is_not_right(three: Run, tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {url: 'ftp://news.example/feed'}\n")
    ran = three("feed", "import", str(file), "--prune", "--json")
    assert (ran.code, ran.json()["removed"], len(ran.json()["rejected"])) == (1, [], 1)
    assert len(configured(three)) == 3


def test_five_hundred_feeds_are_imported_at_once(both: Run, tmp_path: Path) -> None:
    """`benchmarks/importing.py` has the time of ten times as many."""
    rows = "".join(f"<outline type='rss' text='Feed {n}' xmlUrl='https://feed-{n}.example/rss'/>" for n in range(500))
    file = tmp_path / "feeds.opml"
    file.write_text(f"<opml version='2.0'><head/><body>{rows}</body></opml>")
    assert both("feed", "import", str(file)).out == "500 added, 0 there already, 0 rejected\n"
    assert len(configured(both)) == 500
