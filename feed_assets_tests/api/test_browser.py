"""The pages in a real browser: with and without scripts, light and dark, on a desk and in a hand, by mouse and by keyboard."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from feed_assets_tests.api.conftest import Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [f"--{flag}" for flag in ("no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync")]
DESK, HAND = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="NO BROWSER TESTS: there is no chromium, and it could not be installed")


class Site(NamedTuple):
    base: str
    feeds: int


@pytest.fixture(scope="module")
def site(served: Served) -> Iterator[Site]:
    """The API of the feeds in every state, on a port of its own."""
    running = uvicorn.Server(uvicorn.Config(served.client.app, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield Site(f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}", len(served.urls) - 1)
    running.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


class Visit:
    """A page in a browser, and what the browser complained of."""

    def __init__(self, browser: Browser, site: Site, **options: Any) -> None:
        self.site = site
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def go(self, path: str) -> Page:
        assert self.page.goto(self.site.base + path)
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((self.site.base, "data:"))] == []


@pytest.fixture(params=["script", "no script"])
def visit(request: pytest.FixtureRequest, browser: Browser, site: Site) -> Iterator[Visit]:
    visiting = Visit(browser, site, viewport=DESK, java_script_enabled=request.param == "script")
    yield visiting
    visiting.close()


def rows(page: Page) -> Any:
    return page.locator("tbody th.name a")


def test_feeds_are_listed_sorted_filtered_searched_and_opened(visit: Visit) -> None:
    page = visit.go("/")
    expect(rows(page)).to_have_count(visit.site.feeds)
    page.get_by_role("link", name="State").click()
    page.wait_for_url("**sort=state**")
    assert page.locator("tbody td.state").first.inner_text() in ("disabled", "dead")
    page.get_by_role("navigation", name="Filter by state").get_by_role("link", name="dead").click()
    expect(rows(page)).to_have_count(1)
    expect(page.locator("td.trouble")).to_contain_text("closed this feed for good")
    page.get_by_label("Search feeds").fill("nothing like that")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Show all").click()
    expect(rows(page)).to_have_count(visit.site.feeds)
    page.get_by_label("Search feeds").fill("long")
    page.get_by_label("Search feeds").press("Enter")
    expect(rows(page)).to_have_count(1)
    rows(page).click()
    page.wait_for_url("**/feeds/long")
    expect(page.get_by_role("heading", level=1)).to_have_text("127.0.0.1")
    expect(page.locator("ol.articles li")).to_have_count(20)
    expect(page.get_by_role("link", name="RSS", exact=True)).to_have_attribute("href", "/rss/long")
    expect(page.locator("svg.bars")).to_have_count(2)


def test_the_address_says_what_one_sees(visit: Visit) -> None:
    page = visit.go("/?state=ok&sort=pace")
    seen = rows(page).all_inner_texts()
    page.get_by_role("link", name="Name").click()
    page.wait_for_url("**sort=name**")
    assert "state=ok" in page.url
    page.wait_for_load_state("load")
    page.go_back()
    page.wait_for_url("**sort=pace**")
    assert rows(page).all_inner_texts() == seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, HAND], ids=["desk", "hand"])
@pytest.mark.parametrize("path", ["/", "/feeds/news", "/feeds/failing", "/docs"])
def test_everything_fits_and_can_be_read(browser: Browser, site: Site, path: str, viewport: Any, scheme: Any) -> None:
    visiting = Visit(browser, site, viewport=viewport, color_scheme=scheme)
    page = visiting.go(path)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ink, paper = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert contrast(ink, paper) >= 7
    for selector in (".lead", ".sub", "footer"):
        if page.locator(selector).count():
            assert contrast(page.locator(selector).first.evaluate("element => getComputedStyle(element).color"), paper) >= 4.5
    visiting.close()


def contrast(one: str, other: str) -> float:
    """As WCAG has it."""

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((light(one), light(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_keyboard_gets_everywhere(browser: Browser, site: Site) -> None:
    visiting = Visit(browser, site, viewport=DESK)
    page = visiting.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("long")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=long**")
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('href')"))
    assert "/feeds/long" in reached and "/docs" in reached
    visiting.close()


def test_times_stay_true_while_the_page_is_open(browser: Browser, site: Site) -> None:
    visiting = Visit(browser, site, viewport=DESK)
    page = visiting.page
    page.clock.install()
    visiting.go("/feeds/news")
    before = page.locator("dd time").first.inner_text()
    page.clock.fast_forward(3 * 86_400_000)
    assert page.locator("dd time").first.inner_text() != before
    visiting.close()


def test_an_endpoint_can_be_tried_in_the_description(browser: Browser, site: Site) -> None:
    visiting = Visit(browser, site, viewport=DESK)
    page = visiting.go("/docs")
    page.locator("summary", has_text="/api/articles").click()
    form = page.locator("details[open] form")
    form.get_by_label("limit").fill("2")
    form.get_by_role("button", name="Try it").click()
    page.wait_for_url("**/api/articles?**")
    assert page.url.startswith(f"{site.base}/api/articles?") and page.inner_text("body").count('"article_id"') == 2
    visiting.close()
