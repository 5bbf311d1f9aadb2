"""Turns: one request at a time per host, a rest in between, and nobody waits for another's host."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

from feed_assets.fetch import Turns

Job = tuple[str, int]


def jobs(*hosts: str) -> list[Job]:
    return [(host, number) for number, host in enumerate(hosts)]


def turns_of(work: list[Job], delay: float = 0.0) -> Turns[Job]:
    return Turns(work, lambda job: job[0], delay)


def run(turns: Turns[Job], workers: int, do: Callable[[Job], None]) -> None:
    """Workers as a batch has them, until the last job is done."""

    def work() -> None:
        while (job := turns.take()) is not None:
            do(job)
            turns.done(job)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_every_job_is_done_once() -> None:
    work = jobs(*"abcab" * 20)
    done: list[Job] = []
    run(turns_of(work), 8, done.append)
    assert sorted(done) == sorted(work)


def test_jobs_of_one_host_keep_their_order() -> None:
    done: list[Job] = []
    run(turns_of(jobs(*"aabab" * 10)), 4, done.append)
    for host in "ab":
        numbers = [number for name, number in done if name == host]
        assert numbers == sorted(numbers)


def test_a_host_gets_one_request_at_a_time() -> None:
    active: dict[str, int] = defaultdict(int)
    most: dict[str, int] = defaultdict(int)
    lock = threading.Lock()

    def do(job: Job) -> None:
        with lock:
            active[job[0]] += 1
            most[job[0]] = max(most[job[0]], active[job[0]])
        time.sleep(0.005)
        with lock:
            active[job[0]] -= 1

    run(turns_of(jobs(*"abc" * 8)), 12, do)
    assert most == {"a": 1, "b": 1, "c": 1}


def test_a_host_rests_between_the_end_of_a_request_and_the_next() -> None:
    spans: list[tuple[float, float]] = []

    def do(job: Job) -> None:
        started = time.monotonic()
        time.sleep(0.02)
        spans.append((started, time.monotonic()))

    run(turns_of(jobs("a", "a", "a"), delay=0.1), 3, do)
    assert all(later[0] - earlier[1] >= 0.1 for earlier, later in pairwise(spans))


def test_a_resting_host_holds_nobody_else_up() -> None:
    started = time.monotonic()
    at: dict[Job, float] = {}
    run(turns_of(jobs("slow", "slow", *(f"host-{n}" for n in range(20))), delay=0.3), 1, lambda job: at.update({job: time.monotonic()}))
    assert max(moment for job, moment in at.items() if job != ("slow", 1)) - started < 0.2
    assert at["slow", 1] - started >= 0.3


def test_a_host_that_hangs_holds_nobody_else_up() -> None:
    others, released = threading.Semaphore(0), []

    def do(job: Job) -> None:
        if job[0] == "hangs":
            released.append(all(others.acquire(timeout=2) for _ in range(3)))
        else:
            others.release()

    run(turns_of(jobs("hangs", "a", "b", "a")), 2, do)
    assert released == [True]


def test_stop_ends_the_wait_of_every_worker() -> None:
    turns = turns_of(jobs("a", "a"), delay=60)
    first = turns.take()
    assert first == ("a", 0)
    got: list[Job | None] = []
    waiting = threading.Thread(target=lambda: got.append(turns.take()), daemon=True)
    waiting.start()
    turns.done(first)
    turns.stop()
    waiting.join(2)
    assert got == [None]


def test_no_jobs_end_at_once() -> None:
    assert turns_of([]).take() is None
