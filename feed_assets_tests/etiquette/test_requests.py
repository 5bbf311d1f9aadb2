"""Rules 10, 11 and 12: who we say we are, what we leave out, and what we offer to take."""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Callable

import brotli
import pytest

from feed_assets import __version__
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer, rss
from feed_assets_tests.support.refreshing import add, refresh_one
from feed_assets_tests.support.rows import look, one_engine

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}
pytestmark = one_engine


def test_rule_10_the_user_agent_is_honest_and_stable(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    server.answers["/old"] = Answer(302, b"", {"Location": "/feed"})
    server.publish("/feed", rss("one"))
    add(store, clock, server.base + "/old")
    refresh_one(store, settings, clock)
    clock.advance(days=8)
    refresh_one(store, settings, clock)
    agents = {asked.headers["user-agent"] for asked in server.asked}
    assert len(server.asked) == 4
    assert len(agents) == 1
    [agent] = agents
    assert re.fullmatch(rf"feed_assets/{re.escape(__version__)} \(\+https://\S+\)", agent)
    assert not re.search("mozilla|chrome|safari|gecko", agent, re.IGNORECASE)


def test_rule_11_no_cookies_no_referer_no_cache_busting(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    cookie = {"Set-Cookie": "id=1; Path=/"}
    server.answers["/old?a=1&b=%20"] = Answer(302, b"", {"Location": "/feed?x=y"} | cookie)
    server.answers["/feed?x=y"] = Answer(200, rss("one").encode(), cookie)
    add(store, clock, server.base + "/old?a=1&b=%20")
    for _ in range(2):
        assert refresh_one(store, settings, clock).outcome.ok
        clock.advance(days=8)
    assert [asked.path for asked in server.asked] == ["/old?a=1&b=%20", "/feed?x=y"] * 2
    for asked in server.asked:
        assert not {"cookie", "referer", "cache-control", "pragma", "origin"} & asked.headers.keys()


def test_rule_12_what_we_accept_prefers_feeds(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one")))
    refresh_one(store, settings, clock)
    sent = server.asked[0].headers
    assert set(sent["accept-encoding"].split(", ")) >= {"gzip", "deflate"}
    assert sent["a-im"] == "feed"
    weights = {
        kind.strip(): float(weight.partition("=")[2] or 1)
        for kind, _, weight in (each.partition(";") for each in sent["accept"].split(","))
    }
    assert weights["application/rss+xml"] == weights["application/atom+xml"] == weights["application/feed+json"] == 1
    assert weights["application/rss+xml"] > weights["application/xml"] > weights["text/html"] > weights["*/*"] > 0


@pytest.mark.parametrize("encoding", COMPRESSIONS)
def test_rule_12_what_we_offer_to_take_we_understand(
    store: Store, settings: Settings, clock: Clock, server: FeedServer, encoding: str
) -> None:
    add(store, clock, server.publish("/feed", COMPRESSIONS[encoding](rss("one").encode()), Content_Encoding=encoding))
    assert refresh_one(store, settings, clock).new == 1
    assert encoding in server.asked[0].headers["accept-encoding"].split(", ")


def test_rule_12_226_brings_the_news_and_loses_nothing(store: Store, settings: Settings, clock: Clock, server: FeedServer) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two", "three"), ETag='"1"'))
    refresh_one(store, settings, clock)
    clock.advance(hours=1)
    server.answers["/feed"] = Answer(226, rss("four", day=2).encode(), {"ETag": '"2"', "IM": "feed"})
    report = refresh_one(store, settings, clock)
    assert (report.outcome, report.status_code, report.new) == ("success", 226, 1)
    assert all(check.passed for check in report.checks)
    rows = look(store)
    assert rows.column("deduped_articles", "headline") == ["four", "one", "three", "two"]
    assert rows.of("cached_feeds")["xml_content"].count("<item>") == 4
    refresh_one(store, settings, clock)
    assert server.asked[-1].headers["if-none-match"] == '"2"'
