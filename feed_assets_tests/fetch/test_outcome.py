"""What a status means for a feed."""

from __future__ import annotations

import pytest

from feed_assets.fetch.outcome import of_exception, of_status
from feed_assets.model import Outcome
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.feed_server import FeedServer

TEMPORARY, PERMANENT = Outcome.TEMPORARY_ERROR, Outcome.PERMANENT_ERROR
STATUSES = {
    200: Outcome.SUCCESS,
    226: Outcome.SUCCESS,
    304: Outcome.NOT_MODIFIED,
    401: Outcome.UNAUTHORIZED,
    403: Outcome.UNAUTHORIZED,
    400: PERMANENT,
    402: PERMANENT,
    404: PERMANENT,
    405: PERMANENT,
    406: PERMANENT,
    410: PERMANENT,
    418: PERMANENT,
    451: PERMANENT,
    408: TEMPORARY,
    429: TEMPORARY,
    500: TEMPORARY,
    502: TEMPORARY,
    503: TEMPORARY,
    504: TEMPORARY,
    521: TEMPORARY,
    599: TEMPORARY,
}


@pytest.mark.parametrize(("status", "outcome"), STATUSES.items())
def test_every_status_has_its_outcome(fetch: Fetch, server: FeedServer, status: int, outcome: Outcome) -> None:
    result = fetch(server.publish("/feed", "") if status == 200 else server.fail("/feed", status))
    assert (result.outcome, result.status_code) == (outcome, status)
    assert (result.body is not None) == (outcome is Outcome.SUCCESS)
    assert (result.reason is None) == outcome.ok
    assert outcome.ok or str(status) in str(result.reason)


@pytest.mark.parametrize("status", [204, 206, 300, 302, 305, 700, 999])
def test_statuses_that_make_no_sense_for_a_feed_are_temporary_errors(status: int) -> None:
    outcome, reason = of_status(status)
    assert (outcome, str(status) in str(reason)) == (TEMPORARY, True)


def test_an_unforeseen_exception_is_a_temporary_error_with_a_short_reason() -> None:
    outcome, reason = of_exception(RuntimeError("boom " * 200))
    assert outcome is TEMPORARY
    assert reason.startswith("boom boom") and len(reason) < 250


def test_an_exception_without_words_is_named() -> None:
    assert of_exception(KeyError()) == (TEMPORARY, "KeyError")
