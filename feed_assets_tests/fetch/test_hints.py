"""What headers say about coming back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from feed_assets.fetch.hints import max_age_seconds, retry_after
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.feed_server import FeedServer

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", timedelta(minutes=2)),
        (" 120 ", timedelta(minutes=2)),
        ("0", timedelta()),
        ("Mon, 02 Mar 2026 12:30:00 GMT", timedelta(minutes=30)),
        ("Mon, 02 Mar 2026 13:30:00 +0100", timedelta(minutes=30)),
        ("Mon, 02 Mar 2026 11:00:00 GMT", timedelta()),
        ("Monday, 02-Mar-26 12:30:00 GMT", timedelta(minutes=30)),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("\u00b2", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str, expected: timedelta | None) -> None:
    assert retry_after({"Retry-After": value}, NOW) == expected


def test_an_absurd_retry_after_does_not_overflow() -> None:
    wait = retry_after({"Retry-After": "9" * 40}, NOW)
    assert wait is not None
    assert NOW + wait > NOW


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Cache-Control": "max-age=600"}, 600),
        ({"Cache-Control": 'public, MAX-AGE="600"'}, 600),
        ({"Cache-Control": "s-maxage=60, max-age=600"}, 600),
        ({"Cache-Control": "s-maxage=60"}, None),
        ({"Cache-Control": "max-age=600", "Age": "150"}, 450),
        ({"Cache-Control": "max-age=600", "Age": "900"}, 0),
        ({"Cache-Control": "max-age=600", "Age": "young"}, 600),
        ({"Cache-Control": "max-age=600", "Age": "\u00b3"}, 600),
        ({"Cache-Control": "no-cache, max-age=600"}, None),
        ({"Cache-Control": "no-store"}, None),
        ({"Cache-Control": "max-age=600", "Expires": "Mon, 02 Mar 2026 18:00:00 GMT"}, 600),
        ({"Expires": "Mon, 02 Mar 2026 12:10:00 GMT"}, 600),
        ({"Expires": "Mon, 02 Mar 2026 12:10:00 GMT", "Date": "Mon, 02 Mar 2026 12:09:00 GMT"}, 60),
        ({"Expires": "Mon, 02 Mar 2026 11:00:00 GMT"}, 0),
        ({"Expires": "0"}, None),
        ({"Expires": "-1"}, None),
    ],
)
def test_freshness_is_max_age_minus_age_else_expires(headers: dict[str, str], expected: int | None) -> None:
    assert max_age_seconds(headers, NOW) == expected


def test_a_fetch_tells_the_hints_of_a_success(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.publish("/feed", "<rss/>", Cache_Control="max-age=600", Age="100"))
    assert (result.max_age_seconds, result.retry_after) == (500, None)


def test_a_fetch_tells_the_hints_of_a_refusal(fetch: Fetch, server: FeedServer) -> None:
    result = fetch(server.fail("/feed", 429, Retry_After="Mon, 02 Mar 2026 13:00:00 GMT"))
    assert result.retry_after == timedelta(hours=1)
