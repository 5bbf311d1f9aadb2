"""`/api/groups` and `/stories`: top stories first, pages, one story with its articles; complete without a script."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets.stories import find_stories
from feed_assets_tests.api.conftest import Client
from feed_assets_tests.api.test_pages import parsed, words
from feed_assets_tests.store.builders import put
from feed_assets_tests.test_stories import ORCA, VOLCANO, tell

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return utc_now()


@pytest.fixture
def press(client: Client, store: Store, settings: Settings, now: datetime) -> Client:
    """A story of three sources, one of two that is younger, and one of two that is older than a day."""
    with store.begin() as tx:
        put(tx, "sea", "wire", "local", "vestnik", "gazeta")
        for name, telling, feed, hours in (
            ("orca-1", ORCA[0], "sea", 5), ("orca-2", ORCA[1], "wire", 4), ("orca-3", ORCA[2], "local", 3),
            ("ash-1", VOLCANO[0], "vestnik", 2), ("ash-2", VOLCANO[1], "gazeta", 1),
            ("rail-1", ("Rail strike halts <b>trains</b> & trams in Quorvania", "No trains ran on Monday, unions said."), "sea", 31),
            ("rail-2", ("Quorvania: strike halts trains and trams", "Unions stopped rail traffic on Monday."), "wire", 30),
            ("alone", ("Weekly market moves", "To the river."), "local", 1),
        ):  # fmt: skip
            tell(tx, name, telling, feed, at=now - hours * HOUR)
    find_stories(store, settings, now=now)
    return client


def names(answer: Any) -> list[str]:
    return [group["headline"].split()[0] for group in answer["groups"]]


def test_what_most_sources_tell_comes_first_then_the_latest(press: Client) -> None:
    answer = press.get("/api/groups").json()
    assert names(answer) == ["Orcas", "Вулкан", "Rail"] and answer["next"] is None
    top = answer["groups"][0]
    assert (top["sources"], top["feeds"], top["articles"]) == (3, 3, 3)


def test_the_window_leaves_out_what_was_told_before(press: Client, now: datetime) -> None:
    since = (now - 24 * HOUR).isoformat().replace("+00:00", "Z")
    assert names(press.get(f"/api/groups?since={since}").json()) == ["Orcas", "Вулкан"]


def test_pages_follow_each_other_without_gaps(press: Client) -> None:
    seen, after = [], ""
    while True:
        answer = press.get(f"/api/groups?limit=1{after}")
        seen += names(answer.json())
        if answer.json()["next"] is None:
            break
        assert 'rel="next"' in answer.headers["Link"]
        after = f"&after={answer.json()['next']}"
    assert seen == ["Orcas", "Вулкан", "Rail"]


def test_a_group_has_its_articles_the_newest_first_and_so_has_the_list_of_articles(press: Client) -> None:
    group_id = press.get("/api/groups").json()["groups"][0]["group_id"]
    answer = press.get(f"/api/groups/{group_id}").json()
    assert answer["group"]["group_id"] == group_id
    assert [article["article_id"] for article in answer["articles"]] == ["orca-3", "orca-2", "orca-1"]
    listed = press.get(f"/api/articles?group={group_id}").json()["articles"]
    assert listed == answer["articles"]


def test_a_story_that_grows_is_seen_grown(press: Client, store: Store, settings: Settings, now: datetime) -> None:
    press.get("/api/groups")
    with store.begin() as tx:
        tell(tx, "orca-4", (f"Video: {ORCA[0][0]}", ORCA[0][1]), "vestnik", at=now)
    find_stories(store, settings, now=now + HOUR)
    assert press.get("/api/groups").json()["groups"][0]["articles"] == 4


@pytest.mark.parametrize("path", ["/api/groups/nobody", "/api/groups/%00", "/stories/nobody"])
def test_a_group_that_is_not_there_is_404(press: Client, path: str) -> None:
    answer = press.get(path)
    assert answer.status_code == 404 and answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("query", ["after=x", "after=1~2", "limit=0", "since=soon"])
def test_what_cannot_be_asked_is_400(press: Client, query: str) -> None:
    assert press.get(f"/api/groups?{query}").status_code == 400


def test_the_page_shows_top_stories_with_who_tells_them(press: Client) -> None:
    page = parsed(press, "/stories")
    headings = [words(heading) for heading in page.iter("h2")]
    assert headings == [ORCA[0][0], VOLCANO[0][0], "Rail strike halts <b>trains</b> & trams in Quorvania"]
    first = page.findall(".//ol/li")[0]
    assert "3 sources · 3 articles" in words(first)
    assert [link.get("href") for link in first.findall(".//li/a")] == [
        "https://local.example/orca-3", "https://wire.example/orca-2", "https://sea.example/orca-1",
    ]  # fmt: skip
    assert page.find(".//header//a[@aria-current='page']").get("href") == "/stories"  # type: ignore[union-attr]
    assert len(list(page.iter("script"))) == 1 and not page.findall(".//*[@style]")


def test_the_page_of_a_day_has_the_stories_of_a_day(press: Client) -> None:
    page = parsed(press, "/stories?hours=24")
    assert len(list(page.iter("h2"))) == 2
    assert page.find(".//nav/a[@aria-current='true']").get("href") == "/stories?hours=24"  # type: ignore[union-attr]


def test_many_stories_come_in_pages(press: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feed_assets.api.stories._PER_PAGE", 2)
    more = parsed(press, "/stories").find(".//a[@rel='next']")
    assert more is not None
    second = parsed(press, more.get("href") or "")
    assert [words(heading) for heading in second.iter("h2")] == ["Rail strike halts <b>trains</b> & trams in Quorvania"]
    assert second.find(".//a[@rel='first']") is not None


def test_a_story_has_a_page_with_every_telling(press: Client) -> None:
    path = parsed(press, "/stories").find(".//h2/a").get("href") or ""  # type: ignore[union-attr]
    page = parsed(press, path)
    assert words(page.find(".//h1")) == ORCA[0][0]  # type: ignore[arg-type]
    assert [words(heading) for heading in page.iter("h2")] == [telling[0] for telling in reversed(ORCA)]
    assert "3 articles of 3 sources" in words(page)


def test_nonsense_in_the_address_shows_the_stories(press: Client) -> None:
    for query in ("hours=x", "hours=-1", "hours=24000000", "after=x", "after=%00", "hours=%D9%A2"):
        assert press.get(f"/stories?{query}").status_code == 200


def test_without_stories_the_page_says_so(client: Client) -> None:
    assert "None yet." in words(parsed(client, "/stories"))
