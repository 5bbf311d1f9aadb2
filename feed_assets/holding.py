"""A batch in somebody's hands: signs of life while it is worked on, so that its leases last and nobody takes it over.

What gives no sign for DEAD_AFTER is dead (see `defs/recovery.py`); whoever lost it meanwhile cannot write (see `fence`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from feed_assets.errors import FeedAssetsError
from feed_assets.settings import Settings
from feed_assets.store import Store

DEAD_AFTER = timedelta(seconds=90)
HOST_LEASE = timedelta(minutes=2)
_BEAT_SECONDS = 15.0

_log = logging.getLogger(__name__)


class Hold:
    """Whether the batch is still ours."""

    def __init__(self) -> None:
        self.lost = False


@contextmanager
def holding(store: Store, settings: Settings, token: str, clock: Callable[[], datetime]) -> Iterator[Hold]:
    """Renew the leases of a batch until the end of the block, whatever that is waiting for; then give back what is still held."""
    hold, lease = Hold(), timedelta(seconds=settings.lease_seconds)

    def beat() -> None:
        with store.begin() as tx:
            held = tx.schedules.renew(token, now=clock(), lease=lease)
            tx.hosts.renew(token, now=clock(), lease=HOST_LEASE)
            tx.batches.keep_alive(token, now=clock())
        hold.lost = not held

    try:
        with beating(beat, settings, token):
            yield hold
    finally:
        with store.begin() as tx:
            tx.schedules.release(token)
            tx.hosts.release(token, now=clock())
            tx.batches.close(token)


@contextmanager
def beating(beat: Callable[[], None], settings: Settings, token: str) -> Iterator[None]:
    """Call `beat` every few seconds, in a thread of its own, until the end of the block."""
    over = threading.Event()
    pause = min(_BEAT_SECONDS, settings.lease_seconds / 3)

    def go_on() -> None:
        while not over.wait(pause):
            try:
                beat()
            except FeedAssetsError as error:  # the database is away; the next beat may find it again, and a lost lease stops the batch
                _log.warning("could not renew the leases of batch %s: %s", token, error)

    heart = threading.Thread(target=go_on, name="heartbeat", daemon=True)
    heart.start()
    try:
        yield
    finally:
        over.set()
        heart.join()
