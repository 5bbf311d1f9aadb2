"""Lists of feeds as files: what they say, what is refused, and that writing and reading one loses nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feed_assets.errors import UsageError
from feed_assets.feeds_files import folders, read_feeds_file, read_opml, to_opml, to_yaml
from feed_assets.model import Feed
from feed_assets.urls import domain_of
from feed_assets_tests.support.mutate import CORPUS

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def test_a_feeds_file_gives_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {id: a, url: 'https://a.example/feed', source_name: Füße}\n", "utf-8")
    assert read_feeds_file(file) == [{"id": "a", "url": "https://a.example/feed", "source_name": "Füße"}]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"feeds:",
        b"feeds: 5",
        b"- a\n- b",
        b"feeds: [a, b]",
        b"other: []",
        b"just words",
        b"feeds: [",
        b"\xff\xfe\x00",
        b"a: b: c",
        b"? [a]\n: b",
    ],
)
def test_a_file_that_is_no_feeds_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        read_feeds_file(file)
    assert str(file) in str(refused.value) and "\n" not in str(refused.value)


def test_what_looks_like_a_date_is_a_text(tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds: [{id: 2026-01-01, url: 'https://a.example/', source_name: 2026-13-45}]")
    assert [(row["id"], row["source_name"]) for row in read_feeds_file(file)] == [("2026-01-01", "2026-13-45")]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_feeds_file(tmp_path / "nothing.yaml")
    with pytest.raises(UsageError, match="cannot read"):
        read_feeds_file(tmp_path)


def make(number: int, **columns: Any) -> Feed:
    usual = {"url": f"https://site-{number}.org/feed?a=1&b=2", "source_name": f"Site {number}", "root_domain": f"site-{number}.org"}
    return Feed(f"feed-{number}", **usual | columns)


FEEDS = [
    make(1, feed_group="News/World"),
    make(2, feed_group="News", refresh_interval_minutes=30, priority=-3),
    make(3),
    make(4, feed_group="AC//DC/Live", enabled=False, polling=False, error_policy="one_strike", enforce_feed_domain=True),
    make(5, feed_group="News/World", root_domain=None, source_name='<Füße> & "Zöpfe" #1: no'),
    make(6, url="https://me:p%40ss@private.example/feed", root_domain="other.example"),
]


def test_yaml_gives_back_every_column_and_the_order(tmp_path: Path) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text(to_yaml(FEEDS), "utf-8")
    assert [as_feed(row) for row in read_feeds_file(file)] == FEEDS


def test_opml_gives_back_every_column_in_the_order_of_its_folders(tmp_path: Path) -> None:
    file = tmp_path / "feeds.opml"
    file.write_text(to_opml(FEEDS), "utf-8")
    order = [0, 4, 1, 2, 3, 5]  # folder by folder, each where its first feed stands
    assert [as_feed(row) for row in read_feeds_file(file)] == [FEEDS[place] for place in order]


def as_feed(row: Any) -> Feed:
    """As the catalog reads it."""
    columns = dict(row)
    feed_id = columns.pop("id")
    columns.setdefault("root_domain", domain_of(columns["url"]))
    return Feed(feed_id, **columns)


def test_a_public_opml_has_no_passwords_and_nothing_of_ours() -> None:
    text = to_opml(FEEDS, private=False)
    assert "p%40ss" not in text and "feed-1" not in text and "one_strike" not in text
    assert len(read_opml(text.encode())) == len(FEEDS)


def test_an_export_of_what_was_read_is_the_same_again() -> None:
    text = to_opml(FEEDS)
    assert to_opml(as_feed(row) for row in read_opml(text.encode())) == text


texts = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="\ufffe\uffff"), min_size=1, max_size=12)
groups = (
    st.lists(texts.map(lambda name: name.replace("/", "//").strip("/")).filter(bool), max_size=3)
    .map("/".join)
    .map(lambda group: group or None)
)


@given(st.lists(st.tuples(texts, groups, st.integers(-5, 5), st.booleans()), min_size=1, max_size=6))
def test_whatever_the_names_are_both_formats_give_them_back(drawn: list[tuple[str, str | None, int, bool]]) -> None:
    feeds = [
        make(number, source_name=name, feed_group=group, priority=priority, polling=polling)
        for number, (name, group, priority, polling) in enumerate(drawn)
    ]
    read = {feed.feed_id: feed for feed in map(as_feed, read_opml(to_opml(feeds).encode()))}
    assert read == {feed.feed_id: feed for feed in feeds}


def test_nested_outlines_are_groups_in_groups() -> None:
    rows = read_opml(
        b"""<opml version="1.0"><body><outline text="News"><outline text="AC/DC"><outline xmlUrl="https://a.example/"/></outline>
        <outline text="B" xmlUrl="https://b.example/"/></outline>
        <outline title="C" text="c" xmlUrl="https://c.example/" category="/Tech/Web,x"/>
        </body></opml>"""
    )
    assert [(row["url"], row.get("feed_group"), row.get("source_name")) for row in rows] == [
        ("https://a.example/", "News/AC//DC", None),
        ("https://b.example/", "News", "B"),
        ("https://c.example/", "Tech/Web", "C"),
    ]
    assert folders("News/AC//DC") == ["News", "AC/DC"]


def test_a_list_nested_very_deeply_is_read() -> None:
    depth = 5000
    text = "<opml><body>" + "<outline>" * depth + "<outline xmlUrl='https://a.example/'/>" + "</outline>" * depth + "</body></opml>"
    assert [row["url"] for row in read_opml(text.encode())] == ["https://a.example/"]


def test_lists_in_other_encodings_are_read(tmp_path: Path) -> None:
    text = "<?xml version='1.0' encoding='{}'?><opml><body><outline text='Füße' xmlUrl='https://a.example/'/></body></opml>"
    for encoding in ("utf-16", "iso-8859-1", "utf-8-sig"):
        file = tmp_path / "feeds.opml"
        file.write_bytes(text.format(encoding.removesuffix("-sig")).encode(encoding))
        assert [row["source_name"] for row in read_feeds_file(file)] == ["Füße"]


def test_a_list_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    levels = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 20}'>" for n in range(1, 9))
    file = tmp_path / "feeds.opml"
    file.write_text(
        f"<!DOCTYPE opml [<!ENTITY e0 'ha'>{levels}]><opml><body><outline text='&e8;' xmlUrl='https://a.example/'/></body></opml>"
    )
    with pytest.raises(UsageError, match="cannot read"):
        read_feeds_file(file)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus beside the project")
def test_the_lists_of_other_projects_are_read_and_written_as_they_are() -> None:
    read = 0
    for path in sorted(CORPUS.rglob("*.opml")):
        try:
            rows = read_feeds_file(path)
        except UsageError:
            assert "xmlurl" not in path.read_text("utf-8").lower()
            continue
        told = [{"id": f"feed-{number}", "source_name": row["url"]} | dict(row) for number, row in enumerate(rows)]
        again = read_opml(to_opml(map(as_feed, told)).encode())
        assert [(row["url"], row.get("feed_group"), row["source_name"]) for row in again] == [
            (row["url"], row.get("feed_group"), row["source_name"]) for row in told
        ]
        read += 1
    assert read
