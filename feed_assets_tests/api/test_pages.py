"""The pages as they come from the server: valid HTML, small, complete without a script, with words for everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib
import pytest

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import Store
from feed_assets.words import in_words
from feed_assets_tests.api.conftest import Client, Served

PAGES = [
    "/",
    "/?q=news",
    "/?state=trouble",
    "/?sort=pace&reverse=1",
    "/?q=nothing-like-that",
    "/feeds/news",
    "/feeds/failing",
    "/feeds/later",
    "/stories",
    "/docs",
]


def parsed(client: Client, path: str, status: int = 200) -> Element:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)  # which raises for what is not valid
    root: Element = parser.parse(answer.text)
    return root


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_valid_html_in_a_language_with_one_heading_above_all(served: Served, path: str) -> None:
    page = parsed(served.client, path)
    assert page.get("lang") == "en" and page.find("head/title") is not None
    assert len(list(page.iter("h1"))) == 1 and page.find(".//main") is not None
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", PAGES)
def test_whatever_can_be_used_has_a_name(served: Served, path: str) -> None:
    page = parsed(served.client, path)
    labels = {label.get("for") for label in page.iter("label")}
    for field in page.iter("input"):
        assert field.get("type") == "hidden" or field.get("id") in labels
    for element in (*page.iter("a"), *page.iter("button"), *page.iter("th"), *page.iter("summary")):
        assert words(element), path
    for picture in page.iter("svg"):
        assert picture.get("role") == "img" and picture.get("aria-label")
    for place in page.iter("nav"):
        assert place.get("aria-label")


@pytest.mark.parametrize("path", PAGES)
def test_nothing_comes_from_elsewhere_and_all_of_it_is_small(served: Served, path: str) -> None:
    page = parsed(served.client, path)
    own = [element.get("href") for element in page.iter("link") if element.get("rel") == "stylesheet"]
    own += [element.get("src") for element in page.iter("script")]
    assert all(each and each.startswith("/static/") for each in own)
    size = len(served.client.get(path).content) + sum(len(served.client.get(str(each)).content) for each in own)
    assert size < 100_000


def test_the_list_shows_each_feed_with_its_state_and_its_times(served: Served) -> None:
    page = parsed(served.client, "/")
    rows = {words(row[0]): row for row in page.findall(".//tbody/tr")}
    assert len(rows) == len(served.urls) - 1
    news = next(row for name, row in rows.items() if "news" in (row[0].find("a").get("href") or ""))  # type: ignore[union-attr]
    assert words(news[1]) == "ok"
    moments = list(news.iter("time"))
    assert len(moments) == 2
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", moment.get("datetime") or "") for moment in moments)
    assert all("UTC" in (moment.get("title") or "") for moment in moments)
    failing = next(row for row in rows.values() if words(row[1]) == "dead")
    assert "closed this feed for good" in words(failing)


def names(client: Client, path: str) -> list[str]:
    return [(row[0].find("a").get("href") or "").rpartition("/")[2] for row in parsed(client, path).findall(".//tbody/tr")]  # type: ignore[union-attr]


def test_feeds_are_searched_filtered_and_sorted_by_links_and_a_form(served: Served) -> None:
    assert names(served.client, "/?q=LONG") == ["long"]
    assert names(served.client, "/?state=dead") == names(served.client, "/?state=trouble") == ["failing"]
    assert names(served.client, "/?sort=state")[0] in ("disabled", "failing")
    by_name = names(served.client, "/?sort=name")
    assert names(served.client, "/?sort=name&reverse=1") == by_name[::-1]
    header = parsed(served.client, "/?sort=name&q=e").find(".//th[@aria-sort]")
    assert header is not None and header.get("aria-sort") == "ascending"
    assert "reverse=1" in (header.find("a").get("href") or "") and "q=e" in (header.find("a").get("href") or "")  # type: ignore[union-attr]


def test_nonsense_in_the_address_shows_the_list(served: Served) -> None:
    for query in ("sort=x", "state=x", "number=-5", "number=999", "q=%00", "reverse=maybe"):
        assert served.client.get(f"/?{query}").status_code == 200


def test_a_feed_page_has_its_reasons_articles_fetches_and_ways_to_elsewhere(served: Served) -> None:
    page = parsed(served.client, "/feeds/news")
    text = words(page)
    assert "two & three" in text and "Why then" in text and "articles/h" in text
    links = [link.get("href") for link in page.iter("a")]
    assert "/rss/news" in links and "http://127.0.0.1:3000/assets/raw_items?view=partitions&partition=news" in links
    assert page.find(".//link[@type='application/rss+xml']").get("href") == "/rss/news"  # type: ignore[union-attr]
    dead = words(parsed(served.client, "/feeds/failing"))
    assert "closed this feed for good" in dead and "feed-assets feed sync failing" in dead


def test_a_feed_that_is_not_there_is_a_page_that_says_so(served: Served) -> None:
    assert "there is no feed 'nobody'" in words(parsed(served.client, "/feeds/nobody", 404))
    assert served.client.get("/feeds/nobody", headers={"Accept": "application/json"}).headers["Content-Type"] == "application/problem+json"


def test_without_feeds_the_page_says_how_to_add_one(client: Client) -> None:
    assert "feed-assets feed add" in words(parsed(client, "/"))


@pytest.fixture
def crowd(client: Client, store: Store) -> Iterator[Client]:
    catalog.import_feeds(store, [{"id": f"feed-{n:03}", "url": f"https://{n}.example/feed"} for n in range(250)], now=utc_now())
    yield client


def test_many_feeds_come_in_pages_that_stay_small(crowd: Client) -> None:
    answer = crowd.get("/")
    assert len(answer.content) < 100_000
    seen = [name for number in (1, 2, 3) for name in names(crowd, f"/?number={number}")]
    assert len(seen) == len(set(seen)) == 250
    assert parsed(crowd, "/?number=2").find(".//a[@rel='next']") is not None


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("HTTP 404 Not Found", "not there any more"),
        ("HTTP 503 Service Unavailable", "problem of its own"),
        ("HTTP 429 Too Many Requests", "too often"),
        ("timed out waiting for the server", "in time"),
        ("something unheard of", ""),
        (None, ""),
    ],
)
def test_errors_are_told_in_plain_words(reason: str | None, meaning: str) -> None:
    assert meaning in in_words(reason) and (meaning or in_words(reason) == "")


@pytest.mark.parametrize("path", ["/", "/feeds/news", "/stories", "/docs"])
def test_pages_answer_to_those_who_only_ask_whether_they_are_there(served: Served, path: str) -> None:
    answer = served.client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
