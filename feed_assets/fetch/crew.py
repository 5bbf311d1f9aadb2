"""A crew of threads that fetches many feeds: hosts in turns, slow ones beside the others, dead ones left alone.

Which hosts may be asked is said from outside (`open_host`), so that several crews can share the hosts between them.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from feed_assets.fetch.client import Fetcher, Hop
from feed_assets.fetch.turns import Turns
from feed_assets.model import FetchRequest, FetchResult, HostState, Outcome
from feed_assets.settings import Settings
from feed_assets.urls import domain_of

Read = TypeVar("Read")

_STALLED_SECONDS = 0.25  # a worker that waits longer for a server is no longer counted, and another takes its place
_MOST_WORKERS = 5  # times FETCH_WORKERS, stalled ones included
_FAILURES_TO_BLOCK = 3
_FIRST_BLOCK = timedelta(minutes=5)
_TOO_MANY_REQUESTS = timedelta(hours=1)
_TICK = 0.05
_MARGIN = 0.05  # a server sees the end of an answer later than we do
_MOST_WAITING = 100  # results that nobody has collected yet
_QUIET_SECONDS = 0.25  # when nothing more comes for so long, what is there is handed on


@dataclass(frozen=True, slots=True)
class Postponed:
    """A feed that was not asked for, and when it should be."""

    feed_id: str
    until: datetime
    reason: str


class Crew(Generic[Read]):
    """`read` is what a worker makes of a result, outside of the host's turn: parsing, mostly."""

    def __init__(self, fetcher: Fetcher, settings: Settings, clock: Callable[[], datetime], read: Callable[[FetchResult], Read]) -> None:
        self._fetcher = fetcher
        self._settings = settings
        self._clock = clock
        self._read = read
        self._delay = settings.domain_delay_seconds and settings.domain_delay_seconds + _MARGIN
        self._turns: Turns[Hop] = Turns(self._delay)
        self._ends = time.monotonic() + settings.lease_seconds * 0.9
        self._done: queue.SimpleQueue[Read | Postponed] = queue.SimpleQueue()
        self._pending = 0
        self._hosts: dict[str, HostState] = {}
        self._learned: dict[str, HostState] = {}
        self._free: set[str] = set()  # hosts, and names of domains, whose state can be told
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._foreman = threading.Thread(target=self._oversee, name="foreman", daemon=True)
        self._busy: dict[threading.Thread, float | None] = {}  # since when a worker waits for a server

    def add(self, request: FetchRequest) -> None:
        hop = self._fetcher.first_hop(request)
        self._pending += 1
        self._turns.put(hop.host, hop)

    def add_done(self, result: Read) -> None:
        """A result that needs no fetching."""
        self._pending += 1
        self._done.put(result)

    def hosts_wanted(self) -> dict[str, int]:
        """Hosts that feeds wait for and that are not open yet, with the number of feeds."""
        return self._turns.closed()

    def open_host(self, state: HostState, *, ours: bool) -> None:
        """What is known about a host: it may be asked if it is ours and not blocked; its feeds are postponed if it is."""
        now = self._clock()
        with self._lock:
            self._hosts[state.host] = state
        if state.blocked_until and state.blocked_until > now:
            self._postpone(state.host, state.blocked_until, state.blocked_reason or "its host is left alone for now")
        elif ours:
            rested = (now - state.last_request_at).total_seconds() if state.last_request_at else self._delay
            self._turns.open(
                state.host, wait=min(max(self._delay - rested, 0), self._delay)
            )  # not for ever, should the clock have been set back
        elif state.free_at:
            self._turns.expect(state.host, wait=max((state.free_at - now).total_seconds(), 0))

    def host_news(self) -> list[HostState]:
        """Hosts that are free again, and what was learned about them; and domains that are to be left alone."""
        now = self._clock()
        with self._lock:
            for host, rested in self._turns.idle().items():
                state = self._learned.get(host) or self._hosts.get(host) or HostState(host)
                asked = now - timedelta(seconds=rested) if rested is not None else state.last_request_at
                self._learned[host] = replace(state, last_request_at=asked)
                self._free.add(host)
            news = [self._learned.pop(host) for host in self._free & self._learned.keys()]
            self._free.clear()
        return news

    def collect(self, *, most: int, seconds: float) -> list[Read | Postponed]:
        """What was done since; waits for at most so many seconds, and less when nothing comes or new hosts are wanted."""
        self._release_late()
        found: list[Read | Postponed] = []
        deadline = time.monotonic() + seconds
        if not self._foreman.is_alive() and not self._stopped.is_set():
            self._foreman.start()
        quiet_since = time.monotonic()
        while len(found) < min(most, self._pending) and (now := time.monotonic()) < deadline:
            try:
                found.append(self._done.get(timeout=min(_TICK, deadline - now)))
                quiet_since = time.monotonic()
            except queue.Empty:
                if self._turns.closed().keys() - self._hosts.keys() or (found and time.monotonic() - quiet_since > _QUIET_SECONDS):
                    break
        self._pending -= len(found)
        return found

    @property
    def pending(self) -> int:
        return self._pending

    def stop(self) -> None:
        self._stopped.set()
        self._turns.stop()

    def _oversee(self) -> None:
        """The foreman's work: he does not wait for those who store what the crew brings."""
        while not self._stopped.wait(_TICK):
            self._staff()

    def _staff(self) -> None:
        """As many workers as FETCH_WORKERS, not counting those that wait for a slow server."""
        now = time.monotonic()
        with self._lock:
            alive = len(self._busy)
            working = sum(since is None or now - since < _STALLED_SECONDS for since in self._busy.values())
            wanted = min(self._settings.fetch_workers, self._turns.unfinished)
            missing = min(wanted - working, self._settings.fetch_workers * _MOST_WORKERS - alive)
            for _ in range(missing):
                worker = threading.Thread(target=self._work, name="fetch", daemon=True)
                self._busy[worker] = None
                worker.start()

    def _work(self) -> None:
        me = threading.current_thread()
        while (turn := self._next_turn()) is not None:
            host, hop = turn
            try:
                step = self._ask(me, host, hop)
            except Exception as error:  # a bug of ours with one feed must not end the worker: the batch would wait for ever
                reason = f"feed_assets stumbled over this feed ({type(error).__name__}: {error}); please report it"
                step = FetchResult(hop.request.feed_id, hop.url, hop.started_at, Outcome.TEMPORARY_ERROR, reason)
            if isinstance(step, Hop):
                self._go_on(step)
            else:
                self._done.put(self._read(step))
                self._turns.finish()
            if self._too_many():
                break
        with self._lock:
            self._busy.pop(me, None)

    def _next_turn(self) -> tuple[str, Hop] | None:
        """Nobody fetches more while there is much that waits to be stored: memory is for what is worked on."""
        while self._done.qsize() >= _MOST_WAITING and not self._stopped.is_set():
            time.sleep(_TICK)
        return self._turns.take()

    def _go_on(self, hop: Hop) -> None:
        """A redirect's next request waits in its host's line, unless that host is to be left alone."""
        state = self._hosts.get(hop.host)
        if state and state.blocked_until and state.blocked_until > self._clock():
            self._done.put(Postponed(hop.request.feed_id, state.blocked_until, state.blocked_reason or ""))
            self._turns.finish()
        else:
            self._turns.put(hop.host, hop, again=True)

    def _ask(self, me: threading.Thread, host: str, hop: Hop) -> Hop | FetchResult:
        self._busy[me] = time.monotonic()
        try:
            step = self._fetcher.follow(hop)
            if isinstance(step, FetchResult):
                self._judge_host(step)  # before its next turn
            else:
                self._has_answered(host)
            return step
        finally:
            self._busy[me] = None
            self._turns.rest(host)

    def _too_many(self) -> bool:
        """Whether stalled workers have come back and somebody may go."""
        with self._lock:
            return sum(since is None for since in self._busy.values()) > self._settings.fetch_workers

    def _has_answered(self, host: str) -> None:
        with self._lock:
            state = self._learned.get(host) or self._hosts.get(host)
            if state and state.consecutive_failures:
                self._learned[host] = self._hosts[host] = replace(state, consecutive_failures=0)

    def _judge_host(self, result: FetchResult) -> None:
        """Count failures in a row; leave a host alone that fails too often, or that asks for it."""
        host, now = result.host, self._clock()
        with self._lock:
            state = self._learned.get(host) or self._hosts.get(host) or HostState(host)
            failures = state.consecutive_failures + 1 if result.host_failed else 0
            until, reason = self._block(result, failures, now)
            if failures != state.consecutive_failures or until:
                self._learned[host] = self._hosts[host] = replace(
                    state, consecutive_failures=failures, blocked_until=until, blocked_reason=reason, last_request_at=now
                )
            blocked = [host] if until else []
            if until and not result.host_failed and self._settings.retry_after_scope == "domain" and (domain := domain_of(result.url)):
                self._learned[f"*.{domain}"] = HostState(f"*.{domain}", blocked_until=until, blocked_reason=reason)
                self._free.add(f"*.{domain}")
                blocked = [name for name in {host, *self._hosts} if domain_of(f"http://{name}/") == domain]
        for name in blocked:
            self._postpone(name, until or now, reason or "")

    def _block(self, result: FetchResult, failures: int, now: datetime) -> tuple[datetime | None, str | None]:
        if failures >= _FAILURES_TO_BLOCK:
            pause = min(_FIRST_BLOCK * 2 ** min(failures - _FAILURES_TO_BLOCK, 10), timedelta(minutes=self._settings.backoff_max_minutes))
            return now + pause, f"{result.host} failed {failures} times in a row ({result.reason}); it is left alone for now"
        if result.status_code in (429, 503) and self._settings.retry_after_scope != "feed":
            asked = result.retry_after or (_TOO_MANY_REQUESTS if result.status_code == 429 else None)
            if asked:
                bound = timedelta(minutes=max(self._settings.hint_max_minutes, 60))
                return now + min(asked, bound), f"{result.host} asked us to wait (HTTP {result.status_code})"
        return None, None

    def _postpone(self, host: str, until: datetime, reason: str) -> None:
        """Feeds of one host come back one after the other, not all in the same moment."""
        for place, hop in enumerate(self._turns.withdraw(host)):
            later = until + timedelta(seconds=place * self._delay)
            self._done.put(Postponed(hop.request.feed_id, later, reason))

    def _release_late(self) -> None:
        for hop, wait in self._turns.too_late(self._ends):
            reason = (
                f"its turn at {hop.host} would come too late for this batch; one request every {self._settings.domain_delay_seconds:g} s"
            )
            self._done.put(Postponed(hop.request.feed_id, self._clock() + timedelta(seconds=wait), reason))
