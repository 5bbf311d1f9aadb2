"""Turns: a host gets one job at a time and rests in between, and no worker waits for a host while another could be served."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from feed_assets.fetch.turns import Turns

DELAY = 0.15


def lines(delay: float = DELAY, **jobs: str) -> Turns[str]:
    """Open hosts with jobs of one letter each."""
    turns: Turns[str] = Turns(delay)
    for host, letters in jobs.items():
        for letter in letters:
            turns.put(host, letter)
        turns.open(host)
    return turns


def seconds_of(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def taken_soon(turns: Turns[str], seconds: float = 0.1) -> list[tuple[str, str] | None]:
    """What a worker got in so many seconds; nothing if it still waits. It is stopped then."""
    got: list[tuple[str, str] | None] = []
    worker = threading.Thread(target=lambda: got.append(turns.take()), daemon=True)
    worker.start()
    worker.join(seconds)
    found = list(got)
    turns.stop()
    worker.join(1)
    return found


def test_jobs_of_a_host_come_in_the_order_they_were_put() -> None:
    turns = lines(delay=0, a="xyz")
    order = []
    for _ in range(3):
        turn = turns.take()
        assert turn
        order.append(turn[1])
        turns.rest("a")
    assert order == ["x", "y", "z"]


def test_a_host_that_is_being_asked_is_not_asked_again() -> None:
    turns = lines(delay=0, a="xy")
    assert turns.take() == ("a", "x")
    assert taken_soon(turns) == []


def test_a_host_rests_after_its_answer_and_not_after_its_request() -> None:
    turns = lines(a="xy")
    turns.take()
    time.sleep(DELAY)
    turns.rest("a")
    assert seconds_of(turns.take) >= DELAY


def test_while_a_host_rests_another_is_served_at_once() -> None:
    turns = lines(delay=30, a="xy", b="z")
    assert turns.take() == ("a", "x")
    turns.rest("a")
    assert seconds_of(lambda: turns.take() == ("b", "z")) < 1


def test_a_waiting_worker_hears_of_a_host_that_is_ready_sooner() -> None:
    turns = lines(delay=30, a="xy")
    turns.take()
    turns.rest("a")
    threading.Timer(0.1, lambda: (turns.put("b", "z"), turns.open("b"))).start()
    assert turns.take() == ("b", "z")


def test_a_host_that_is_not_open_is_not_asked() -> None:
    turns: Turns[str] = Turns(0)
    turns.put("a", "x")
    turns.put("a", "y")
    assert turns.closed() == {"a": 2}
    assert taken_soon(turns) == []


def test_a_host_may_be_opened_for_later() -> None:
    turns = lines(delay=0, a="")
    turns.put("b", "x")
    turns.open("b", wait=DELAY)
    assert turns.closed() == {}
    assert seconds_of(turns.take) >= DELAY


def test_a_job_that_a_redirect_leads_on_is_finished_once() -> None:
    turns = lines(delay=0, a="x", b="")
    turns.take()
    turns.rest("a")
    turns.put("b", "x", again=True)
    assert (turns.unfinished, turns.take()) == (1, ("b", "x"))
    turns.finish()
    assert turns.take() is None


def test_workers_go_home_when_all_is_finished() -> None:
    turns = lines(delay=0, a="x")
    turns.take()
    threading.Timer(0.05, turns.finish).start()
    assert turns.take() is None


def test_stop_hands_out_no_more_jobs() -> None:
    turns = lines(delay=0, a="xy")
    turns.take()
    turns.rest("a")
    turns.stop()
    assert turns.take() is None


def test_what_is_withdrawn_is_not_asked_for() -> None:
    turns = lines(delay=0, a="xyz", b="")
    assert turns.take() == ("a", "x")
    assert turns.withdraw("a") == ["y", "z"]
    assert turns.withdraw("nowhere") == []
    assert turns.unfinished == 1
    turns.finish()
    assert turns.take() is None


def test_what_would_come_too_late_is_taken_back_from_the_end_of_each_line() -> None:
    turns = lines(delay=10, a="vwxyz", b="u")
    late = dict(turns.too_late(time.monotonic() + 25))
    assert list(late) == ["z", "y"]
    assert late["y"] == pytest.approx(30, abs=1)
    assert late["z"] == pytest.approx(40, abs=1)
    assert turns.unfinished == 4
    assert list(turns.too_late(time.monotonic() + 25)) == []


def test_the_host_of_another_is_expected_when_that_one_is_done() -> None:
    turns: Turns[str] = Turns(10)
    for letter in "xyz":
        turns.put("a", letter)
    turns.expect("a", wait=15)
    assert [job for job, _ in turns.too_late(time.monotonic() + 30)] == ["z"]
    assert [job for job, _ in turns.too_late(time.monotonic() + 10)] == ["y", "x"]


def test_a_host_that_nobody_waits_for_may_be_expected() -> None:
    turns: Turns[str] = Turns(10)
    turns.expect("a", wait=15)
    assert (turns.closed(), turns.unfinished) == ({}, 0)


def test_an_idle_host_is_told_once_with_the_time_since_its_last_answer() -> None:
    turns = lines(delay=0, a="x", b="", c="yz")
    turns.take()
    assert turns.idle() == {"b": None}
    turns.rest("a")
    time.sleep(0.1)
    [(host, rested)] = turns.idle().items()
    assert host == "a"
    assert rested == pytest.approx(0.1, abs=0.09)
    assert turns.idle() == {}
    turns.put("a", "again")
    assert turns.closed() == {"a": 1}


@pytest.mark.parametrize("workers", [1, 8])
def test_many_workers_keep_one_host_to_one_job_at_a_time(workers: int) -> None:
    turns = lines(delay=0.01, a="abcdefgh", b="ijklmnop")
    busy = {"a": 0, "b": 0}
    most: list[int] = []
    done: list[str] = []

    def work() -> None:
        while (turn := turns.take()) is not None:
            host, job = turn
            busy[host] += 1
            most.append(busy[host])
            time.sleep(0.005)
            busy[host] -= 1
            done.append(job)
            turns.rest(host)
            turns.finish()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sorted(done) == list("abcdefghijklmnop")
    assert set(most) == {1}
