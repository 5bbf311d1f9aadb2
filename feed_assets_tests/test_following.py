"""The declarative mode: feeds follow FEEDS_FILE, when it changes and only then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feed_assets import catalog
from feed_assets.errors import UsageError
from feed_assets.following import FeedsFile, in_words
from feed_assets.store import Store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.refreshing import add


def written(path: Path, *names: str, version: int = 1) -> Path:
    path.write_text("feeds:\n" + "".join(f"  - {{id: {name}, url: 'https://{name}.example/feed'}}\n" for name in names))
    os.utime(path, (version, version))
    return path


def following(path: Path, home: Path, **settings: str) -> FeedsFile:
    return FeedsFile(make_settings(home, FEEDS_FILE=str(path), **settings))


def live(store: Store) -> list[str]:
    with store.read() as tx:
        return tx.feeds.live_ids()


def test_without_a_file_there_is_nothing_to_follow(store: Store, clock: Clock, tmp_path: Path) -> None:
    assert FeedsFile(make_settings(tmp_path)).follow(store, now=clock()) is None


def test_a_file_is_applied_once_and_again_when_it_changes(store: Store, clock: Clock, tmp_path: Path) -> None:
    file = written(tmp_path / "feeds.yaml", "a", "b")
    follower = following(file, tmp_path)
    first = follower.follow(store, now=clock())
    assert first is not None and first.added == ("a", "b")
    assert follower.follow(store, now=clock()) is None
    written(file, "a", "b", "c", version=2)
    clock.advance(minutes=1)
    second = follower.follow(store, now=clock())
    assert second is not None and (second.added, second.unchanged) == (("c",), ("a", "b"))
    assert live(store) == ["a", "b", "c"]


def test_what_the_file_does_not_have_stays_unless_pruning_is_on(store: Store, clock: Clock, tmp_path: Path) -> None:
    add(store, clock, "https://own.example/feed", "own")
    file = written(tmp_path / "feeds.yaml", "a")
    following(file, tmp_path).follow(store, now=clock())
    assert sorted(live(store)) == ["a", "own"]
    done = following(file, tmp_path, FEEDS_FILE_PRUNE="true").follow(store, now=clock())
    assert done is not None and done.removed == ("own",)
    assert live(store) == ["a"]


def test_a_row_that_is_not_right_keeps_pruning_from_guessing(store: Store, clock: Clock, tmp_path: Path) -> None:
    add(store, clock, "https://own.example/feed", "own")
    file = tmp_path / "feeds.yaml"
    file.write_text("feeds:\n  - {id: a, url: 'ftp://a.example/feed'}\n")
    done = following(file, tmp_path, FEEDS_FILE_PRUNE="true").follow(store, now=clock())
    assert done is not None and done.removed == () and len(done.rejected) == 1
    assert live(store) == ["own"]
    assert any("ftp" in line for line in in_words(done))


@pytest.mark.parametrize("content", [None, "feeds: ["])
def test_a_file_that_cannot_be_read_is_complained_about_until_it_can(
    store: Store, clock: Clock, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "feeds.yaml"
    if content is not None:
        file.write_text(content)
    follower = following(file, tmp_path)
    for _ in range(2):
        with pytest.raises(UsageError, match="cannot read"):
            follower.follow(store, now=clock())
    written(file, "a", version=2)
    follower.follow(store, now=clock())
    assert live(store) == ["a"]


def test_the_log_says_what_changed_in_a_line(store: Store, clock: Clock, tmp_path: Path) -> None:
    names = [f"feed-{number}" for number in range(7)]
    done = following(written(tmp_path / "feeds.yaml", *names), tmp_path).follow(store, now=clock())
    assert done is not None
    assert in_words(done) == ["feeds follow FEEDS_FILE: 7 added (feed-0, feed-1, feed-2, feed-3, feed-4 ...)"]
    assert in_words(catalog.Imported((), ("a",), ())) == []
