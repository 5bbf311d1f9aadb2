"""Child processes that live and die together: started in order, watched, restarted when they fall, stopped as one."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from feed_assets.errors import FeedAssetsError

_READY_SECONDS = 120.0
_STOP_SECONDS = 7.0
_STEADY_SECONDS = 60.0  # a process that ran this long starts its restarts with a short pause again
_LONGEST_PAUSE = 30.0


@dataclass
class Child:
    name: str
    command: Sequence[str]
    ready: Callable[[], bool]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.5
    restart_at: float | None = None
    restarts: int = field(default=0)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    def __init__(self, environment: dict[str, str], tell: Callable[[str], None]) -> None:
        self._environment = environment
        self._tell = tell
        self._children: list[Child] = []
        self._stopping = False

    def start(self, child: Child, *, wait: bool = True) -> None:
        """Start a child; wait until it answers, or say with the end of its log why it does not."""
        child.log.parent.mkdir(parents=True, exist_ok=True)
        self._children.append(child)
        self._spawn(child)
        if wait:
            self.await_ready(child)

    def await_ready(self, child: Child) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not (child.ready() and child.alive):
            if not child.alive or time.monotonic() > deadline:
                raise FeedAssetsError(f"{child.name} did not start; the end of {child.log} says: {_last_words(child.log)}")
            time.sleep(0.1)

    def watch(self) -> None:
        """Until a signal comes: restart what falls."""
        while True:
            now = time.monotonic()
            for child in self._children:
                if child.alive:
                    continue
                if child.restart_at is None:
                    child.pause = 0.5 if now - child.started > _STEADY_SECONDS else min(child.pause * 2, _LONGEST_PAUSE)
                    child.restart_at = now + child.pause
                    code = child.process.returncode if child.process else None
                    self._tell(f"{child.name} ended (exit code {code}); starting it again in {child.pause:.0f} s (log: {child.log})")
                elif now >= child.restart_at:
                    child.restarts += 1
                    self._spawn(child)
            time.sleep(0.5)

    def stop(self) -> None:
        """Ask all to end, the latest started first; end by force what does not within a few seconds."""
        if self._stopping:
            return
        self._stopping = True
        groups = [child.process.pid for child in reversed(self._children) if child.process is not None]
        for group in groups:
            _signal_group(group, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline and any(child.alive or _group_alive(child) for child in self._children):
            time.sleep(0.05)
        for group in groups:
            _signal_group(group, signal.SIGKILL)
        for child in self._children:
            if child.process is not None:
                child.process.wait()

    def _spawn(self, child: Child) -> None:
        if child.process is not None:
            _signal_group(child.process.pid, signal.SIGKILL)  # what the fallen one left behind
        with child.log.open("ab") as log:
            child.process = subprocess.Popen(
                list(child.command),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a group of its own: Ctrl-C reaches us alone, and we can end its children too
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        child.started = time.monotonic()
        child.restart_at = None


def _die_with_parent() -> None:
    """Should we be killed outright, the kernel ends the child too (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _group_alive(child: Child) -> bool:
    if child.process is None:
        return False
    try:
        os.killpg(child.process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()] if log.exists() else []
    return lines[-1][:400] if lines else "nothing"
