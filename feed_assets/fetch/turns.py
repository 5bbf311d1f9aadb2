"""Turns: a host gets one request at a time and rests in between, while workers go on with other hosts."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Job = TypeVar("Job")


class Turns(Generic[Job]):
    """Jobs of a batch in line per host. Workers `take` a job, do it and say `done`; `take` gives None at the end."""

    def __init__(self, jobs: Iterable[Job], host: Callable[[Job], str], delay: float) -> None:
        self._delay = delay
        self._host = host
        self._lines: dict[str, deque[Job]] = {}
        for job in jobs:
            self._lines.setdefault(host(job), deque()).append(job)
        # Hosts by the moment of their next turn; a host whose request is under way is not among them.
        self._ready = [(0.0, place, name) for place, name in enumerate(self._lines)]
        self._waiting = sum(map(len, self._lines.values()))
        self._changed = threading.Condition()

    def take(self) -> Job | None:
        """The next job whose host may be asked now; waits for one if need be."""
        with self._changed:
            while self._waiting:
                now = time.monotonic()
                if self._ready and self._ready[0][0] <= now:
                    _, _, name = heapq.heappop(self._ready)
                    self._waiting -= 1
                    if not self._waiting:
                        self._changed.notify_all()
                    return self._lines[name].popleft()
                self._changed.wait(self._ready[0][0] - now if self._ready else None)
            return None

    def done(self, job: Job) -> None:
        """The host has answered; its next turn comes after a rest."""
        name = self._host(job)
        with self._changed:
            if self._lines[name]:
                place = len(self._lines[name])
                heapq.heappush(self._ready, (time.monotonic() + self._delay, -place, name))
                self._changed.notify_all()

    def stop(self) -> None:
        """Hand out no more jobs."""
        with self._changed:
            self._waiting = 0
            self._changed.notify_all()
