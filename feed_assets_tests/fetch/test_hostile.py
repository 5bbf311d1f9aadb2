"""Servers that misbehave in every way we could think of: each has its right outcome, in time, and none disturbs the others."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from feed_assets import catalog
from feed_assets.fetch import Fetcher
from feed_assets.model import FetchRequest, FetchResult, Outcome
from feed_assets.refresh import refresh_feeds, utc_now
from feed_assets.store import open_store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.fetch.conftest import Fetch
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import Answer, FeedServer
from feed_assets_tests.support.hostile import (
    BEHAVIOURS,
    FEED,
    GZIP,
    LIMITS,
    MB,
    Behaviour,
    Visit,
    answer,
    encoded,
    padded_in_brotli,
    padded_in_zstd,
    redirects,
    says,
    self_signed_certificate,
    serving,
    serving_all,
    zstd,
)
from feed_assets_tests.support.refreshing import table

CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
IN_TIME_MS = 1900  # JOB_TIMEOUT_SECONDS is 1; the rest is for machines that are busy


@pytest.fixture
def little_memory() -> Iterator[None]:
    """A body that swells makes its own test fail, and not the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if used := _kilobytes("VmSize"):
        resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + 600 * MB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.name)
def test_a_server_that_misbehaves_has_its_outcome_in_time(fetch: Fetch, behaviour: Behaviour) -> None:
    if behaviour.tls and self_signed_certificate() is None:
        pytest.skip("there is no openssl here to make a certificate")
    with serving(behaviour) as url:
        result = fetch(url, **LIMITS)
    assert (result.outcome, behaviour.reason in (result.reason or "")) == (behaviour.outcome, True), result.reason
    assert result.duration_ms < IN_TIME_MS
    assert_fit_to_be_stored(result)
    if behaviour.outcome is Outcome.SUCCESS and behaviour.refreshed is None and "UTF-16" not in behaviour.name:
        assert result.body == FEED


def assert_fit_to_be_stored(result: FetchResult) -> None:
    """Whatever a server says, what is kept of it is clean."""
    assert (result.body is not None) == (result.outcome is Outcome.SUCCESS)
    assert (result.reason is None) == result.outcome.ok
    assert len(result.reason or "") < 300 and (result.reason or "x").isprintable()
    assert not [text for header in result.headers.items() for text in header if CONTROL.search(text)]


def test_the_table_names_many_behaviours_once_each() -> None:
    assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS) >= 60


EMPTY_MEMBERS = zstd.compress((GZIP[:10] + b"\x03\x00" + bytes(8)) * 500_000)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        pytest.param(b"gzip, zstd", padded_in_zstd(GZIP, 64), id="64 MB of zeros after gzip, in zstd"),
        pytest.param(b"gzip, br", padded_in_brotli(GZIP, 3072), id="3 GB of zeros after gzip, in brotli"),
        pytest.param(b"gzip, zstd", EMPTY_MEMBERS, id="500000 empty gzip members, in zstd"),
    ],
)
def test_decompressing_ends_at_the_deadline_too(fetch: Fetch, encoding: bytes, body: bytes) -> None:
    with serving(Behaviour("swells", encoded(encoding, body), Outcome.SUCCESS)) as url:
        result = fetch(url, **LIMITS)
    assert result.duration_ms < IN_TIME_MS


@pytest.mark.parametrize(
    "cut", [b"HTTP/1.1 301 Moved\r\nLocation: /ne", b'HTTP/1.1 304 Same\r\nETag: "ab'], ids=["in a Location", "in an ETag"]
)
def test_half_a_header_is_not_taken_for_a_whole_one(fetch: Fetch, cut: bytes) -> None:
    requests: list[bytes] = []

    def script(visit: Visit) -> None:
        requests.append(visit.path)
        visit.send(cut if visit.path == b"/feed" else answer(b"no", status=b"404 Not Found"))

    with serving(Behaviour("closes in a header", script, Outcome.TEMPORARY_ERROR)) as url:
        result = fetch(url, **LIMITS)
    assert (result.outcome, "broke off" in str(result.reason), requests) == (Outcome.TEMPORARY_ERROR, True, [b"/feed"])


@pytest.mark.parametrize("poison", [b"poison", b"poison" * 10_000], ids=["small", "large"])
@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["at once", "a little later"])
def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(tmp_path: Path, clock: Clock, pause: float, poison: bytes) -> None:
    def script(visit: Visit) -> None:
        if visit.path == b"/feed":
            pieces = [answer(b"first"), answer(poison)]
            for piece in pieces if pause else [b"".join(pieces)]:
                visit.send(piece)
                time.sleep(pause)
            if not visit.connection.recv(65536):
                return
        visit.send(answer(b"second"))

    behaviour = Behaviour("an answer too many", script, Outcome.SUCCESS)
    with serving(behaviour) as url, Fetcher(make_settings(tmp_path, **LIMITS), clock) as fetcher:
        first = fetcher.fetch(FetchRequest("a", url))
        time.sleep(pause * 2)
        second = fetcher.fetch(FetchRequest("b", url.replace("/feed", "/other")))
    assert (first.body, second.body) == (b"first", b"second")


def test_a_kept_connection_that_the_server_closed_is_replaced(tmp_path: Path, clock: Clock) -> None:
    requests: list[bytes] = []

    def script(visit: Visit) -> None:
        requests.append(visit.path)
        visit.send(answer())

    behaviour = Behaviour("one answer per connection", script, Outcome.SUCCESS)
    with serving(behaviour) as url, Fetcher(make_settings(tmp_path, **LIMITS), clock) as fetcher:
        results = [fetcher.fetch(FetchRequest("news", url)) for _ in range(3)]
    assert [result.outcome for result in results] == [Outcome.SUCCESS] * 3
    assert len(requests) == 3


def test_a_server_that_always_hangs_up_is_asked_once(fetch: Fetch) -> None:
    requests: list[bytes] = []
    with serving(Behaviour("hangs up", lambda visit: requests.append(visit.path), Outcome.TEMPORARY_ERROR)) as url:
        fetch(url, **LIMITS)
    assert requests == [b"/feed"]


def test_a_password_does_not_go_with_a_redirect_to_another_server(fetch: Fetch, server: FeedServer) -> None:
    away = server.publish("/away", FEED)
    with serving(Behaviour("sends us away", redirects(away.encode()), Outcome.SUCCESS)) as url:
        result = fetch(url.replace("//", "//me:secret@"), **LIMITS)
    assert (result.outcome, result.url) == (Outcome.SUCCESS, away)
    assert [asked.path for asked in server.asked] == ["/away"]
    assert "authorization" not in server.asked[0].headers


def test_a_password_stays_with_a_redirect_on_its_own_server(fetch: Fetch, server: FeedServer) -> None:
    server.answers["/old"] = Answer(302, b"", {"Location": "/new"})
    server.publish("/new", FEED)
    result = fetch((server.base + "/old").replace("//", "//me:secret@"), **LIMITS)
    assert [asked.headers["authorization"] for asked in server.asked] == ["Basic bWU6c2VjcmV0"] * 2
    assert "secret" not in result.url


def test_a_password_in_a_location_is_not_shown(fetch: Fetch, server: FeedServer) -> None:
    away = server.publish("/away", FEED)
    location = away.replace("//", "//someone:else@").encode()
    with serving(Behaviour("hands out a password", redirects(location), Outcome.SUCCESS)) as url:
        result = fetch(url, **LIMITS)
    assert (result.outcome, result.url) == (Outcome.SUCCESS, away)


def test_all_of_them_in_one_batch_leave_a_row_each_and_the_memory_alone(tmp_path: Path) -> None:
    present = [each for each in BEHAVIOURS if not each.tls or self_signed_certificate()]
    honest = Behaviour("an honest server", says(answer()), Outcome.SUCCESS)
    with serving(honest) as warm_up, serving_all(present) as urls:
        plan = json.dumps({"folder": str(tmp_path), "warm_up": warm_up, "urls": list(urls.values())})
        command = [sys.executable, "-c", f"from {__name__} import refresh_in_this_process; refresh_in_this_process()"]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, input=plan, cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)
    expected = {f"feed-{n}": (each.name, each.after_parsing.value) for n, each in enumerate(present)}
    found = {feed_id: (expected[feed_id][0], outcome) for feed_id, outcome in report["history"]}
    assert len(report["history"]) == len(present)
    assert found == expected
    assert report["grown_mb"] < 150
    assert report["seconds"] < 30


def refresh_in_this_process() -> None:
    """Refresh the feeds that stdin names, in a process of its own whose memory is measured, and tell how it went."""
    plan = json.load(sys.stdin)
    sys.addaudithook(_only_loopback)
    settings = make_settings(Path(plan["folder"]), **LIMITS)
    with closing(open_store(settings.store_url)) as store:
        feeds = {"warm-up": plan["warm_up"]} | {f"feed-{n}": url for n, url in enumerate(plan["urls"])}
        catalog.import_feeds(store, [{"id": feed_id, "url": url} for feed_id, url in feeds.items()], now=utc_now())
        list(refresh_feeds(store, settings, ["warm-up"]))
        before, started = _peak_kilobytes(), time.monotonic()
        list(refresh_feeds(store, settings, [f"feed-{n}" for n in range(len(plan["urls"]))]))
        seconds, grown = time.monotonic() - started, _peak_kilobytes() - before
        history = [(row["feed_id"], row["outcome"]) for row in table(store, "fetch_history") if row["feed_id"] != "warm-up"]
    json.dump({"history": history, "grown_mb": grown / 1024, "seconds": seconds}, sys.stdout)


def _only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: nothing of this process leaves the machine."""
    if event == "socket.connect" and isinstance(arguments[1], tuple) and not str(arguments[1][0]).startswith(("127.", "::1")):
        raise OSError(f"a test may not connect to {arguments[1]}")
    if event == "socket.getaddrinfo" and not re.fullmatch(r"[0-9.]+", str(arguments[0])):
        raise OSError(f"a test may not look up {arguments[0]}")


def _peak_kilobytes() -> int:
    """ru_maxrss would do, were it not inherited from the process that started this one."""
    return _kilobytes("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _kilobytes(name: str) -> int | None:
    status = Path("/proc/self/status")
    found = re.search(rf"{name}:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) if found else None
