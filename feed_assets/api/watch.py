"""Keeps the shelf in step with the store, in a thread of its own, and knows how stale it is when it cannot."""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol, cast

from feed_assets.api.shelf import Shelf
from feed_assets.errors import FeedAssetsError
from feed_assets.store import Store

_LOOK_SECONDS = 0.25  # at the file, which costs nothing
_ASK_SECONDS = 1.0  # the server
_WAIT_SECONDS = 0.5  # for a writer to let go of the file
_FRESH_SECONDS = 5.0  # what was asked for so lately is not called stale

_log = logging.getLogger(__name__)


class Copy(Protocol):
    """An engine that reads from a copy of its own (`store/replica.py`)."""

    generation: int

    @property
    def is_current(self) -> bool: ...

    def refresh(self, *, wait: float = 0.0) -> bool: ...


class Watcher:
    def __init__(self, store: Store, shelf: Shelf) -> None:
        self._store = store
        self._shelf = shelf
        self._replica = cast(Copy, store.engine) if hasattr(store.engine, "refresh") else None
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._stop = threading.Event()
        self._turn = threading.Lock()
        self._current_at: float | None = None
        self._taken: int | None = None  # the copy that the shelf was filled from
        self.trouble: str | None = None  # why the store cannot be read

    def start(self) -> None:
        """Begin to watch; asking twice is fine."""
        with self._turn:
            if not self._thread.is_alive() and not self._stop.is_set():
                self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    @property
    def is_ready(self) -> bool:
        """Whether there ever was something to serve from."""
        return self._current_at is not None

    @property
    def age(self) -> float:
        """For how many seconds nothing is known of the store."""
        return time.monotonic() - self._current_at if self._current_at is not None else float("inf")

    @property
    def is_stale(self) -> bool:
        return self.age > _FRESH_SECONDS

    def catch_up(self) -> bool:
        """Bring the shelf up to date, if it can be done now; whether it is. What goes wrong is noted."""
        with self._turn:
            try:
                if self._replica is not None and not self._replica.is_current and not self._replica.refresh(wait=_WAIT_SECONDS):
                    return False  # a writer is at it; the next look is soon
                generation = self._replica.generation if self._replica else None
                if generation is None or generation != self._taken:
                    with self._store.read() as tx:
                        self._shelf.update(tx)
                    self._taken = generation
            except FeedAssetsError as error:
                if self.trouble is None:
                    _log.warning("the store cannot be read; serving what is there: %s", error)
                self.trouble = str(error)
            except Exception:
                _log.exception("the watcher stumbled; it goes on")
                self.trouble = "an error in feed_assets; its log has it"
            else:
                self.trouble = None
                self._current_at = time.monotonic()
            return self.trouble is None

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.catch_up()
            self._stop.wait(_LOOK_SECONDS if self._replica else _ASK_SECONDS)
