"""What happens to a feed while it is being fetched: edits, lost leases, crashes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import feed_assets.commit
from feed_assets import catalog
from feed_assets.errors import FeedNotReady
from feed_assets.model import FeedReport
from feed_assets.refresh import claim_due, refresh, refresh_feeds
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import DATA, Rows, look, one_engine


def refresh_during(server: FeedServer, meanwhile: Callable[[], Any], store: Store, settings: Settings, clock: Clock) -> FeedReport:
    """Refresh `news`; `meanwhile` happens between its request and the answer."""
    server.answers["/feed"].then = lambda: meanwhile() and None
    report = refresh_one(store, settings, clock)
    server.answers["/feed"].then = None
    return report


def assert_nothing_stored(rows: Rows) -> None:
    assert rows.only(*DATA, "fetch_history", "feed_stats") == {name: [] for name in (*DATA, "fetch_history", "feed_stats")}
    assert {event["event_type"] for event in rows["events"]} == {"feed.added"}


def test_a_feed_deleted_while_it_is_fetched_stores_nothing(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    report = refresh_during(server, lambda: catalog.delete_feed(store, "news", now=clock()), store, settings, clock)
    assert (report.stored, report.reason) == (False, "nothing stored: it was deleted while it was being fetched")
    rows = look(store)
    assert_nothing_stored(rows)
    schedule = rows.schedule()
    assert (schedule["next_run_at"], schedule["lease_token"], schedule["etag"]) == (None, None, None)
    clock.advance(days=1)
    assert claim_due(store, settings, now=clock())[0] == []


@one_engine
def test_a_feed_disabled_while_it_is_fetched_is_stored_and_not_due_again(
    store: Store, settings: Settings, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_during(server, lambda: catalog.edit_feed(store, settings, "news", now=clock(), enabled=False), store, settings, clock)
    rows = look(store)
    assert (rows.of("feeds")["enabled"], rows.column("deduped_articles", "headline")) == (False, ["one"])
    clock.advance(days=1)
    assert claim_due(store, settings, now=clock())[0] == []


def test_a_url_changed_while_it_is_fetched_starts_afresh(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("old"), ETag='"1"'))
    other = server.publish("/other", rss("new"), ETag='"1"')
    report = refresh_during(server, lambda: catalog.edit_feed(store, settings, "news", now=clock(), url=other), store, settings, clock)
    assert (report.stored, report.reason) == (False, "nothing stored: its URL was changed while it was being fetched")
    rows = look(store)
    assert_nothing_stored(rows)
    assert (rows.schedule()["next_run_at"], rows.schedule()["lease_token"]) == (clock(), None)
    assert refresh_one(store, settings, clock).new == 1
    assert (server.asked[-1].path, "if-none-match" in server.asked[-1].headers) == ("/other", False)
    assert look(store).column("deduped_articles", "headline") == ["new"]


@one_engine
@pytest.mark.parametrize(("change", "wait"), [({"refresh_interval_minutes": 120}, timedelta(hours=2)), ({"polling": False}, None)])
def test_what_changed_while_it_is_fetched_decides_the_next_run(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, change: dict[str, Any], wait: timedelta | None
) -> None:
    add(store, clock, server.publish("/feed", rss("one")), refresh_interval_minutes=10)
    report = refresh_during(server, lambda: catalog.edit_feed(store, settings, "news", now=clock(), **change), store, settings, clock)
    assert report.stored
    assert look(store).schedule()["next_run_at"] == (clock() + wait if wait else None)


def test_a_worker_that_lost_its_lease_writes_nothing(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one"), ETag='"1"'))
    lease = timedelta(seconds=settings.lease_seconds)

    def take_over() -> None:
        with store.begin() as tx:
            assert tx.schedules.claim("other", ["news"], now=clock() + lease, lease=lease) == ["news"]

    report = refresh_during(server, take_over, store, settings, clock)
    assert (report.stored, report.reason) == (False, "nothing stored: its lease was lost to another run, which will report")
    rows = look(store)
    assert_nothing_stored(rows)
    assert (rows.schedule()["lease_token"], rows.schedule()["fetch_status"], rows.schedule()["etag"]) == ("other", "queued", None)
    assert [report.new for report in refresh(store, settings, "other", clock=clock)] == [1]
    assert look(store).schedule()["lease_token"] is None


def test_a_live_lease_keeps_others_away(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))

    def second() -> None:
        with pytest.raises(FeedNotReady, match="being fetched by another run"):
            list(refresh_feeds(store, settings, ["news"], clock=clock, patience=0))
        assert claim_due(store, settings, now=clock())[0] == []

    failures: list[BaseException] = []

    def watched() -> None:
        try:
            second()
        except BaseException as error:
            failures.append(error)

    assert refresh_during(server, watched, store, settings, clock).new == 1
    assert failures == []
    assert len(server.asked) == 1


def test_a_crash_before_the_commit_leaves_nothing_and_loses_nothing(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two"), ETag='"1"'))
    write = feed_assets.commit._write_state

    def write_and_crash(*arguments: Any) -> None:
        write(*arguments)
        raise RuntimeError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(feed_assets.commit, "_write_state", write_and_crash)
        with pytest.raises(RuntimeError, match="the power went"):
            refresh_one(store, settings, clock)
    rows = look(store)
    assert_nothing_stored(rows)
    schedule = rows.schedule()
    assert (schedule["etag"], schedule["body_sha256"], schedule["last_fetched_at"]) == (None, None, None)
    assert (schedule["next_run_at"], schedule["fetch_status"], schedule["lease_token"]) == (clock(), "idle", None)
    assert [refresh_one(store, settings, clock).new for _ in range(2)] == [2, 0]
    assert [asked.headers.get("if-none-match") for asked in server.asked] == [None, None, '"1"']
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == rows.column("raw_items", "title") == ["one", "two"]
    assert len(rows.events("articles.new")) == len(rows["raw_fetches"]) == 1


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_a_process_killed_while_it_writes_gives_the_feed_back_when_its_lease_is_over(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, tmp_path: Path
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two"), ETag='"1"'))
    script = f"""
import os
from datetime import datetime
from pathlib import Path
import feed_assets.commit
from feed_assets.refresh import refresh_feeds
from feed_assets.store import open_store
from feed_assets_tests.conftest import make_settings

write = feed_assets.commit._write_state
feed_assets.commit._write_state = lambda *arguments: (write(*arguments), os._exit(9))
clock = lambda: datetime.fromisoformat({clock().isoformat()!r})
list(refresh_feeds(open_store({settings.database_url!r}), make_settings(Path({str(tmp_path)!r})), ["news"], clock=clock))
"""
    root = Path(feed_assets.commit.__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, timeout=30).returncode == 9
    rows = look(store)
    assert_nothing_stored(rows)
    assert (rows.schedule()["fetch_status"], rows.schedule()["etag"]) == ("fetching", None)
    clock.advance(seconds=settings.lease_seconds - 1)
    assert claim_due(store, settings, now=clock())[0] == []
    clock.advance(seconds=1)
    [batch], _ = claim_due(store, settings, now=clock())
    assert [report.new for report in refresh(store, settings, batch.token, clock=clock)] == [2]
    assert look(store).column("deduped_articles", "headline") == ["one", "two"]
