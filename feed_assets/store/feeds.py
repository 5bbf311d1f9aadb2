"""The `feeds` table: what the user wants to have polled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

from feed_assets.model import Feed
from feed_assets.store.engine import Connection, Row

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = tuple(column.name for column in fields(Feed) if column.name != "deleted_at")


class Feeds:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def get(self, feed_id: str) -> Feed | None:
        """The feed, deleted or not."""
        if "\x00" in feed_id:  # Postgres refuses even to look
            return None
        return next(map(to_feed, self._db.rows("get_feed", feed_id=feed_id)), None)

    def many(self, feed_ids: Sequence[str]) -> dict[str, Feed]:
        return {row["feed_id"]: to_feed(row) for row in self._db.rows("feeds_by_id", feed_ids=list(feed_ids))}

    def at_url(self, url: str) -> list[Feed]:
        """Feeds with this URL: a live one first, then deleted ones, the last deleted first."""
        return [to_feed(row) for row in self._db.rows("feeds_at_url", url=url)] if "\x00" not in url else []

    def everything(self) -> list[Feed]:
        """Deleted ones too."""
        return [to_feed(row) for row in self._db.rows("all_feeds")]

    def live(self) -> list[Feed]:
        return [to_feed(row) for row in self._db.rows("live_feeds")]

    def listed(self) -> list[Feed]:
        """The live ones, in the order they were added."""
        return sorted(self.live(), key=lambda feed: (feed.created_at or _LONG_AGO, feed.feed_id))

    def live_ids(self) -> list[str]:
        """In the order they were added, which is the order of the partitions."""
        return [row["feed_id"] for row in self._db.rows("live_feed_ids")]

    def all_ids(self) -> set[str]:
        """Deleted ones too: an id is never given to another feed."""
        return {row["feed_id"] for row in self._db.rows("all_feed_ids")}

    def overview(self, feed_id: str | None = None) -> list[Row]:
        """Feeds joined with their schedules and statistics, for people and programs that look."""
        return self._db.rows("overview", feed_id=feed_id)

    def put(self, feeds: Sequence[Feed], *, next_run_at: datetime, reason: str) -> None:
        """Add feeds, or bring deleted ones back; either way they are due at `next_run_at`."""
        self._db.write("insert_feeds", _COLUMNS, ([getattr(feed, name) for name in _COLUMNS] for feed in feeds))
        self._db.write(
            "insert_schedules", ("feed_id", "next_run_at", "next_run_reason"), ((feed.feed_id, next_run_at, reason) for feed in feeds)
        )

    def update(self, feeds: Iterable[Feed], *, now: datetime) -> None:
        """Change what the user wants; when a feed was added, and whether it is deleted, stays as it is."""
        rows = [replace(feed, updated_at=now) for feed in feeds]
        self._db.write("update_feeds", _COLUMNS, ([getattr(feed, name) for name in _COLUMNS] for feed in rows))

    def delete(self, feed_id: str, *, now: datetime) -> None:
        """Soft: the row, its history and its id stay."""
        self._db.run("delete_feed", feed_id=feed_id, now=now)
        self._db.run("unschedule", feed_id=feed_id, reason="deleted")


def to_feed(row: Row) -> Feed:
    return Feed(**{column.name: row[column.name] for column in fields(Feed)})
