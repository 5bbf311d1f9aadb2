"""What programs and people ask for: lists of articles, where a story was carried, which feeds there are to be served."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from feed_assets.store.articles import CachedFeed
from feed_assets.store.engine import Connection, Row

MOST_WORDS = 4


@dataclass(frozen=True, slots=True)
class Address:
    """A live feed, as far as serving it needs."""

    feed_id: str
    url: str
    source_name: str
    enabled: bool
    root_domain: str | None
    feed_group: str | None
    interval_seconds: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which articles; what is None does not matter. `words` must all be in the headline."""

    feed_id: str | None = None
    source: str | None = None
    group_id: str | None = None
    since: datetime | None = None
    fetched_since: datetime | None = None
    words: Sequence[str] = ()
    max_score: float | None = None  # of the latest analysis, if there is one


class Reading:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def addresses(self, feed_ids: Sequence[str] | None = None) -> list[Address]:
        """Of these feeds, or of all."""
        return [Address(**row) for row in self._db.rows("addresses", feed_ids=list(feed_ids) if feed_ids is not None else None)]

    def addresses_version(self) -> tuple[object, ...]:
        """Another one whenever a feed was added, edited or removed."""
        return tuple(self._db.rows("addresses_version")[0].values())

    def editions_since(self, since: datetime) -> dict[str, str]:
        """feed_id -> ETag of what was published since."""
        return {row["feed_id"]: row["etag"] for row in self._db.rows("editions_since", since=since)}

    def cached(self, feed_ids: Sequence[str]) -> list[CachedFeed]:
        return [CachedFeed(**row) for row in self._db.rows("cached_feeds_by_id", feed_ids=list(feed_ids))] if feed_ids else []

    def articles(self, wanted: Wanted, *, limit: int, after: tuple[datetime, str] | None = None) -> list[Row]:
        """The newest first; those after this one, when it is given. `moment_at` is what they are sorted by."""
        patterns = [f"%{_escaped(word)}%" for word in wanted.words[:MOST_WORDS]]
        words = {f"word_{place + 1}": pattern for place, pattern in enumerate([*patterns, *([None] * (MOST_WORDS - len(patterns)))])}
        one = {"feed_id": wanted.feed_id} if wanted.feed_id is not None else {}
        return self._db.rows(
            "articles_page_of_feed" if one else "articles_page",
            **one,
            source=wanted.source,
            group_id=wanted.group_id,
            since=wanted.since,
            fetched_since=wanted.fetched_since,
            max_score=wanted.max_score,
            after_at=after[0] if after else None,
            after_id=after[1] if after else "",
            articles=limit,
            **words,
        )

    def article_at(self, canonical_url: str | None) -> Row | None:
        return next(iter(self._db.rows("article_at_url", canonical_url=canonical_url)), None)

    def carriers(self, article_ids: Sequence[str]) -> dict[str, list[Row]]:
        """article_id -> the feeds that carried it, the first one first."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self._db.rows("carriers", article_ids=list(article_ids)) if article_ids else ():
            found[row.pop("article_id")].append(row)
        return found


def _escaped(word: str) -> str:
    """As LIKE understands it: a percent sign is a percent sign."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
