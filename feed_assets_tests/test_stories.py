"""A run of grouping on both engines: what is stored, told and remembered, and what happens when somebody else is at it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from feed_assets import stories
from feed_assets.decide.grouping import group_id_of
from feed_assets.errors import StoreError
from feed_assets.housekeeping import prune, summed
from feed_assets.settings import Settings
from feed_assets.store import GroupingQueue, Store, Transaction
from feed_assets.stories import find_stories, is_due, waiting
from feed_assets_tests.store.builders import MINUTE, NOW, make_article, make_item, put, save_items
from feed_assets_tests.support.refreshing import table
from feed_assets_tests.support.rows import look

ORCA = (
    ("Orcas can imitate human speech, research reveals", "Killer whales copy words such as hello and bye bye, a study of Wikie shows."),
    ("Killer whale Wikie learns to say hello", "Researchers taught the orca to imitate human speech at a French marine park."),
    ("Orca mimics human words, scientists find", "The killer whale Wikie can imitate human speech, a study shows."),
)
VOLCANO = (
    ("Вулкан Шивелуч выбросил пепел на высоту 10 километров", "На Камчатке произошло извержение вулкана Шивелуч."),
    ("Пеплопад накрыл Ключи после извержения Шивелуча", "Столб пепла поднялся на 10 километров над вулканом на Камчатке."),
)


def tell(tx: Transaction, name: str, telling: tuple[str, str], feed_id: str, *also: str, at: datetime = NOW) -> None:
    """An article of one feed that others carry, too."""
    headline, text = telling
    article = make_article(
        name, feed_id, headline=headline, content=f"<p>{text}</p>", source=feed_id.title(), url=f"https://{feed_id}.example/{name}",
        published_at=at, fetched_at=at,
    )  # fmt: skip
    tx.articles.save([article])
    for each in (feed_id, *also):
        save_items(tx, (each, "fetch", at, make_item(name)))
        tx.articles.save_sources([(name, each, f"hash-{name}")])


@pytest.fixture
def told(store: Store) -> Store:
    """Two stories, and an article that nobody else tells."""
    with store.begin() as tx:
        put(tx, "sea", "wire", "local", "vestnik", "gazeta")
        tell(tx, "orca-1", ORCA[0], "sea", "local", at=NOW - 60 * MINUTE)
        tell(tx, "orca-2", ORCA[1], "wire", at=NOW - 30 * MINUTE)
        tell(tx, "ash-1", VOLCANO[0], "vestnik", at=NOW - 90 * MINUTE)
        tell(tx, "ash-2", VOLCANO[1], "gazeta", at=NOW - 80 * MINUTE)
        tell(tx, "alone", ("Weekly market in the old town moves to the river", "Stalls stay open until six."), "local")
    return store


def groups_of(store: Store) -> dict[str, str | None]:
    return {row["article_id"]: row["group_id"] for row in table(store, "deduped_articles")}


def test_a_run_stores_the_groups_with_their_numbers(told: Store, settings: Settings) -> None:
    report = find_stories(told, settings, now=NOW)
    orca, ash = group_id_of("orca-1"), group_id_of("ash-1")
    assert groups_of(told) == {"orca-1": orca, "orca-2": orca, "ash-1": ash, "ash-2": ash, "alone": None}
    assert (report.examined, report.window, report.merged) == (5, 5, 0)
    assert [(each.group_id, each.sources, each.feeds, each.articles) for each in report.founded] == [(orca, 3, 3, 2), (ash, 2, 2, 2)]
    first = report.founded[0]
    assert (first.headline, first.first_at, first.last_at, first.founded_at) == (ORCA[0][0], NOW - 60 * MINUTE, NOW - 30 * MINUTE, NOW)


def test_a_run_tells_of_each_group_once(told: Store, settings: Settings) -> None:
    find_stories(told, settings, now=NOW)
    find_stories(told, settings, now=NOW + MINUTE)
    events = {event["group_id"]: event for event in look(told).events("articles.grouped")}
    assert len(look(told).events("articles.grouped")) == 2
    orca = group_id_of("orca-1")
    assert events[orca] == {
        "group_id": orca, "headline": ORCA[0][0], "article_ids": ["orca-1", "orca-2"], "added": ["orca-1", "orca-2"],
        "feeds": ["local", "sea", "wire"],
    }  # fmt: skip


def test_a_later_article_joins_the_group_and_only_that_is_told(told: Store, settings: Settings) -> None:
    find_stories(told, settings, now=NOW)
    with told.begin() as tx:
        tell(tx, "orca-3", ORCA[2], "gazeta", at=NOW + 5 * MINUTE)
    report = find_stories(told, settings, now=NOW + 10 * MINUTE)
    assert (report.examined, len(report.founded), len(report.grown)) == (1, 0, 1)
    grown = report.grown[0]
    assert (grown.articles, grown.sources, grown.founded_at, grown.updated_at) == (3, 4, NOW, NOW + 10 * MINUTE)
    added = [event["added"] for event in look(told).events("articles.grouped") if len(event["article_ids"]) == 3]
    assert added == [["orca-3"]] and len(look(told).events("articles.grouped")) == 3


def test_a_copy_in_another_feed_counts_with_the_next_run_and_is_no_news(told: Store, settings: Settings) -> None:
    find_stories(told, settings, now=NOW)
    before = {row["group_id"]: row for row in table(told, "headline_groups")}
    with told.begin() as tx:
        tell(tx, "ash-2", VOLCANO[1], "gazeta", "wire", at=NOW - 80 * MINUTE)
    find_stories(told, settings, now=NOW + MINUTE)
    after = {row["group_id"]: row for row in table(told, "headline_groups")}
    orca, ash = group_id_of("orca-1"), group_id_of("ash-1")
    assert (after[ash]["sources"], after[ash]["updated_at"]) == (3, NOW + MINUTE)
    assert after[orca] == before[orca]
    assert len(look(told).events("articles.grouped")) == 2


def test_an_article_that_was_alone_founds_a_group_when_another_comes(told: Store, settings: Settings) -> None:
    find_stories(told, settings, now=NOW)
    with told.begin() as tx:
        tell(tx, "market", ("Weekly market leaves the old town for the river", "Stalls stay open until six."), "sea", at=NOW)
    report = find_stories(told, settings, now=NOW + MINUTE)
    assert [each.articles for each in report.founded] == [2]
    assert groups_of(told)["alone"] == groups_of(told)["market"] is not None


def test_groups_that_become_one_take_along_what_the_window_left_behind(store: Store, settings: Settings) -> None:
    """Two groups of the same story, one of which has an article of long ago; an article that is like both comes."""
    with store.begin() as tx:
        put(tx, "sea", "wire", "local", "vestnik")
        tell(tx, "old", ORCA[1], "sea", at=NOW - timedelta(days=9))
        tell(tx, "a", VOLCANO[0], "wire", at=NOW - 20 * MINUTE)
        tell(tx, "b", VOLCANO[1], "sea", at=NOW - 10 * MINUTE)
        tx.articles.set_groups({"a": "older", "old": "younger", "b": "younger"})
        tx.groups.save({"older": NOW - 2 * timedelta(days=1)}, now=NOW)
        tx.groups.save({"younger": NOW - timedelta(days=1)}, now=NOW)
        tell(tx, "c", (f"{VOLCANO[0][0]}: {VOLCANO[1][0]}", f"{VOLCANO[0][1]} {VOLCANO[1][1]}"), "local")
    assert find_stories(store, settings, now=NOW).merged == 1
    assert groups_of(store) == dict.fromkeys(("old", "a", "b", "c"), "older")
    assert [row["group_id"] for row in table(store, "headline_groups")] == ["older"]


def test_what_is_older_than_the_window_waits_for_nothing(told: Store, settings: Settings) -> None:
    with told.read() as tx:
        assert waiting(tx, settings, now=NOW).waiting == 5
        assert waiting(tx, settings, now=NOW + timedelta(hours=settings.grouping_window_hours)).waiting == 1  # told just now
        assert waiting(tx, settings, now=NOW + timedelta(days=30)).waiting == 0


def test_a_run_without_articles_says_so(store: Store, settings: Settings) -> None:
    assert find_stories(store, settings, now=NOW).window == 0


@pytest.mark.parametrize(
    ("articles", "minutes", "due"),
    [(0, None, False), (1, None, True), (49, 14, False), (50, 0, True), (1, 15, True), (0, 99, False), (1, -60, True)],
    ids=["nothing", "never run", "few and soon", "many", "long ago", "nothing for long", "clock set back"],
)
def test_a_run_is_due_when_many_wait_or_any_for_long(settings: Settings, articles: int, minutes: int | None, due: bool) -> None:
    last = None if minutes is None else NOW - minutes * MINUTE
    assert is_due(GroupingQueue(articles, 100, last, last), settings, now=NOW) is due


def test_of_too_many_articles_the_newest_are_compared_and_none_waits(
    told: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stories, "_MOST_ARTICLES", 3)
    assert find_stories(told, settings, now=NOW).examined == 3
    with told.read() as tx:
        assert waiting(tx, settings, now=NOW).waiting == 0
    assert groups_of(told)["orca-2"] is not None and groups_of(told)["ash-1"] is None


def test_what_another_run_did_meanwhile_is_not_written_over(told: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    think, runs = stories.group, []

    def slowly(*given: Any) -> Any:
        found = think(*given)
        runs.append(found)
        if len(runs) == 1:  # while the first thinks, another one comes and goes
            find_stories(told, settings, now=NOW)
        return found

    monkeypatch.setattr(stories, "group", slowly)
    report = find_stories(told, settings, now=NOW)
    assert (len(runs), report.examined, len(report.founded)) == (3, 0, 0)
    assert len(look(told).events("articles.grouped")) == 2


def test_a_run_that_is_always_too_late_gives_up(told: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    think, names = stories.group, iter(range(100))

    def overtaken(*given: Any) -> Any:
        with told.begin() as tx:
            tx.groups.examined([f"other-{next(names)}"], now=NOW + next(names) * MINUTE)
        return think(*given)

    monkeypatch.setattr(stories, "group", overtaken)
    with pytest.raises(StoreError, match="another run"):
        find_stories(told, settings, now=NOW)
    assert set(groups_of(told).values()) == {None}


def test_housekeeping_forgets_groups_without_articles_and_articles_of_no_window(told: Store, settings: Settings) -> None:
    find_stories(told, settings, now=NOW)
    later = NOW + timedelta(days=settings.article_retention_days + 1)
    with told.begin() as tx:  # the documents show other items now
        for feed_id in ("sea", "wire", "local", "vestnik"):
            save_items(tx, (feed_id, "fetch", later, make_item("new")))
    gone = summed(prune(told, settings, now=later, pause=lambda _: None))
    assert gone["headline_groups"] == 1
    assert [row["group_id"] for row in table(told, "headline_groups")] == [group_id_of("ash-1")]
    assert table(told, "examined_articles") == []
