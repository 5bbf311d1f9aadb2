"""What becomes of a feed over hours and days, seen by its publisher: the real sensor and the real job under a simulated clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import chain

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.rows import look

TICK = 15  # seconds

Add = Callable[..., str]


class Living:
    """An installation at work: ticks of the sensor as time goes by, each run at once."""

    def __init__(self, instance: dg.DagsterInstance, settings: Settings, store: Store, clock: Clock, server: FeedServer) -> None:
        self.instance, self.settings, self.store, self.clock, self.server = instance, settings, store, clock, server
        self.dagster = Dagster(instance, settings, clock)

    def restart(self) -> None:
        """Everything anew but the databases."""
        self.dagster = Dagster(self.instance, self.settings, self.clock)

    def add(self, name: str = "news", **options: object) -> str:
        url = self.server.publish(f"/{name}", rss("A story"), ETag='"1"')
        return catalog.add_feed(self.store, url, now=self.clock(), feed_id=name, **options).feed_id

    def tick(self) -> list[str]:
        """Which feeds the publisher was asked for after this tick."""
        before = len(self.server.asked)
        for request in self.dagster.tick().run_requests or []:
            assert self.dagster.requested(request).success
        return sorted(asked.path[1:] for asked in self.server.asked[before:])

    def live(self, every: float = TICK, **span: float) -> list[tuple[float, str]]:
        """What was asked in this time, with the seconds since its beginning."""
        began, asked = self.clock(), []
        end = began + timedelta(**span)
        while self.clock() < end:
            asked += [((self.clock() - began).total_seconds(), name) for name in self.tick()]
            self.clock.advance(seconds=every)
        return asked

    def schedule(self) -> dict[str, object]:
        return look(self.store).schedule()


@pytest.fixture
def life(instance: dg.DagsterInstance, settings: Settings, store: Store, clock: Clock, server: FeedServer) -> Living:
    return Living(instance, settings, store, clock, server)


def test_a_new_feed_is_in_the_next_tick_and_then_keeps_its_interval(life: Living) -> None:
    life.add(refresh_interval_minutes=2)
    asked = [seconds for seconds, _ in life.live(minutes=6)]
    assert asked == [0, 120, 240]


def test_a_feed_that_is_added_later_does_not_wait_for_anything(life: Living) -> None:
    life.add("old", refresh_interval_minutes=10)
    life.live(minutes=1)
    life.add("new", refresh_interval_minutes=10)
    assert life.tick() == ["new"]


def test_after_a_restart_nothing_is_asked_before_it_is_due(life: Living) -> None:
    life.add(refresh_interval_minutes=10)
    life.tick()
    life.clock.advance(minutes=4)
    life.restart()
    assert [seconds for seconds, _ in life.live(minutes=7)] == [360]


def test_after_two_hours_of_downtime_each_feed_is_asked_once_and_batch_by_batch(life: Living) -> None:
    names = [f"feed-{number}" for number in range(6)]
    for name in names:
        life.add(name, refresh_interval_minutes=30)
    life.tick()
    life.clock.advance(hours=2)
    life.settings = life.settings.model_copy(update={"batch_size": 2, "max_batches_in_flight": 1})
    life.restart()
    caught_up = [life.tick() for _ in range(4)]
    assert [len(each) for each in caught_up] == [2, 2, 2, 0]
    assert sorted(chain(*caught_up)) == names
    assert life.live(every=60, minutes=29) == []  # the interval counts from when they were asked, not from when they should have been


def test_a_shorter_interval_counts_from_the_last_fetch(life: Living) -> None:
    life.add(refresh_interval_minutes=60)
    life.tick()
    life.clock.advance(minutes=5)
    assert life.tick() == []
    catalog.edit_feed(life.store, life.settings, "news", now=life.clock(), refresh_interval_minutes=3)
    assert life.tick() == ["news"]
    assert [seconds for seconds, _ in life.live(minutes=4)] == [180]


def test_a_new_url_is_asked_at_once_and_the_old_one_never_again(life: Living) -> None:
    life.add(refresh_interval_minutes=60)
    life.tick()
    moved = life.server.publish("/moved", rss("A story"))
    catalog.edit_feed(life.store, life.settings, "news", now=life.clock(), url=moved)
    assert life.tick() == ["moved"]
    assert {name for _, name in life.live(every=300, hours=2)} == {"moved"}


def test_a_deleted_feed_is_not_asked_and_one_that_comes_back_is_asked_at_once(life: Living) -> None:
    url = life.server.publish("/news", rss("A story"))
    life.add(refresh_interval_minutes=1)
    life.tick()
    catalog.delete_feed(life.store, "news", now=life.clock())
    assert life.live(minutes=5) == []
    assert life.dagster.instance.get_dynamic_partitions("feeds") == []
    catalog.add_feed(life.store, url, now=life.clock())
    assert life.tick() == ["news"]
    assert look(life.store).column("deduped_articles", "headline") == ["A story"]


def test_a_disabled_feed_is_not_asked_and_goes_on_where_it_was_when_it_is_enabled(life: Living) -> None:
    life.add(refresh_interval_minutes=10)
    life.tick()
    catalog.edit_feed(life.store, life.settings, "news", now=life.clock(), enabled=False)
    assert life.live(minutes=5) == []
    catalog.edit_feed(life.store, life.settings, "news", now=life.clock(), enabled=True)
    assert [seconds for seconds, _ in life.live(minutes=6)] == [300]


def test_sync_asks_in_the_next_tick_and_revives_what_is_dead(life: Living) -> None:
    life.add(refresh_interval_minutes=60)
    life.server.answers["/news"].status = 404
    life.tick()
    assert life.live(every=120, minutes=30) == [] and life.schedule()["next_run_at"] is None
    life.server.answers["/news"].status = 200
    catalog.sync_feed(life.store, "news", now=life.clock())
    assert life.tick() == ["news"]
    assert [seconds for seconds, _ in life.live(every=60, minutes=61)] == [3600]


def test_a_one_shot_is_asked_once_per_sync(life: Living) -> None:
    life.add(polling=False)
    assert [name for _, name in life.live(every=300, hours=1)] == ["news"]
    assert life.schedule()["next_run_at"] is None
    catalog.sync_feed(life.store, "news", now=life.clock())
    assert [name for _, name in life.live(every=300, hours=1)] == ["news"]


def test_a_clock_that_is_set_back_by_hours_stops_nothing(life: Living) -> None:
    life.add(refresh_interval_minutes=5)
    life.tick()
    life.clock.advance(hours=-6)
    life.dagster.evaluate("recovery_sensor")
    assert [seconds for seconds, _ in life.live(minutes=9)] == [300]


def test_a_clock_that_jumps_ahead_asks_each_feed_once(life: Living) -> None:
    life.add(refresh_interval_minutes=5)
    life.tick()
    life.clock.advance(days=2)
    assert [seconds for seconds, _ in life.live(minutes=9)] == [0, 300]
