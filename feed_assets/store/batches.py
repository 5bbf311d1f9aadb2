"""`batches`: what somebody works on, with a sign of life every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from feed_assets.store.engine import Connection


@dataclass(frozen=True, slots=True)
class InFlight:
    """A batch that was claimed and is not done. Without `alive_at` nobody has begun with it."""

    token: str
    feeds: int
    queued_at: datetime | None
    locked_until: datetime | None
    run_id: str | None
    started_at: datetime | None
    alive_at: datetime | None


class Batches:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def open(self, token: str, *, run_id: str | None, now: datetime) -> None:
        self._db.run("open_batch", token=token, run_id=run_id, now=now)

    def keep_alive(self, token: str, *, now: datetime) -> None:
        self._db.run("keep_batch_alive", token=token, now=now)

    def close(self, token: str) -> None:
        self._db.run("close_batch", token=token)

    def in_flight(self) -> list[InFlight]:
        return [InFlight(**row) for row in self._db.rows("batches_in_flight")]
