"""Turns: a host gets one request at a time and rests in between, while workers go on with other hosts."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Job = TypeVar("Job")


@dataclass
class _Line(Generic[Job]):
    """The jobs of one host. It is asked only while it is open, which is while the host is ours."""

    jobs: deque[Job] = field(default_factory=deque)
    open: bool = False
    ready_at: float = 0.0
    asking: bool = False
    asked_at: float | None = None


class Turns(Generic[Job]):
    """Jobs in line per host. Workers `take` one, do it, and say `rest` for the host and `finish` for the job."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._lines: dict[str, _Line[Job]] = {}
        self._ready: list[tuple[float, int, str]] = []  # (when, order, host) of open lines with jobs; may have outdated entries
        self._order = 0
        self._unfinished = 0
        self._stopped = False
        self._changed = threading.Condition()

    def put(self, host: str, job: Job, *, again: bool = False) -> None:
        """A job goes to the end of its host's line; `again` when it was taken before and a redirect led it here."""
        with self._changed:
            line = self._lines.setdefault(host, _Line())
            line.jobs.append(job)
            self._unfinished += not again
            self._call(host, line)

    def open(self, host: str, *, wait: float = 0.0) -> None:
        """The host may be asked, from `wait` seconds on."""
        with self._changed:
            line = self._lines.setdefault(host, _Line())
            line.open, line.ready_at = True, time.monotonic() + wait
            self._call(host, line)

    def expect(self, host: str, *, wait: float) -> None:
        """The host is another's for now, and probably free in so many seconds."""
        with self._changed:
            if line := self._lines.get(host):
                line.ready_at = time.monotonic() + wait

    def take(self) -> tuple[str, Job] | None:
        """The next job whose host may be asked now; waits for one if need be. None when all are finished."""
        with self._changed:
            while self._unfinished and not self._stopped:
                now = time.monotonic()
                while self._ready and self._ready[0][0] <= now:
                    _, _, host = heapq.heappop(self._ready)
                    line = self._lines[host]
                    if line.open and line.jobs and not line.asking and line.ready_at <= now:
                        line.asking = True
                        return host, line.jobs.popleft()
                self._changed.wait(self._ready[0][0] - now if self._ready else None)
            return None

    def rest(self, host: str) -> None:
        """The host has answered; its next turn comes after a rest."""
        with self._changed:
            line = self._lines[host]
            line.asking, line.asked_at = False, time.monotonic()
            line.ready_at = line.asked_at + self._delay
            self._call(host, line)

    def finish(self, jobs: int = 1) -> None:
        with self._changed:
            self._unfinished -= jobs
            if self._unfinished <= 0:
                self._changed.notify_all()

    def withdraw(self, host: str) -> list[Job]:
        """Take back what is waiting for a host."""
        with self._changed:
            line = self._lines.get(host)
            jobs = list(line.jobs) if line else []
            if line:
                line.jobs.clear()
        self.finish(len(jobs))
        return jobs

    def too_late(self, ends: float) -> Iterator[tuple[Job, float]]:
        """Take back the jobs whose turn would come after `ends`, with the seconds until that turn."""
        with self._changed:
            now = time.monotonic()
            late: list[tuple[Job, float]] = []
            for line in self._lines.values():
                first = max(line.ready_at, now)
                in_time = max(math.floor((ends - first) / self._delay) + 1, 0) if self._delay else (len(line.jobs) if first <= ends else 0)
                while len(line.jobs) > in_time:
                    late.append((line.jobs.pop(), first - now + self._delay * len(line.jobs)))
        self.finish(len(late))
        yield from late

    def closed(self) -> dict[str, int]:
        """Hosts that jobs wait for and that are not open, with the number of jobs."""
        with self._changed:
            return {host: len(line.jobs) for host, line in self._lines.items() if line.jobs and not line.open}

    def idle(self) -> dict[str, float | None]:
        """Open hosts that nothing waits for any more, with the seconds since they were last asked. They are closed by this."""
        with self._changed:
            now = time.monotonic()
            found = [host for host, line in self._lines.items() if line.open and not line.jobs and not line.asking]
            for host in found:
                self._lines[host].open = False
            asked = {host: self._lines[host].asked_at for host in found}
            return {host: None if at is None else now - at for host, at in asked.items()}

    def stop(self) -> None:
        """Hand out no more jobs."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def unfinished(self) -> int:
        return self._unfinished

    def _call(self, host: str, line: _Line[Job]) -> None:
        """Note a host's next turn, if it has one."""
        if line.open and line.jobs and not line.asking:
            self._order += 1
            heapq.heappush(self._ready, (line.ready_at, self._order, host))
            self._changed.notify()
