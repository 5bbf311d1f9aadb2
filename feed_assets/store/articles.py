"""`deduped_articles`, `article_sources`, `dedup_cache`, `feed_stats`, `cached_feeds`, `events`: what is made of the items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from feed_assets.model import Article, PublishedItem, Stats
from feed_assets.store.analyses import Analyses
from feed_assets.store.encoding import encode_json
from feed_assets.store.engine import Connection
from feed_assets.store.schedules import to_stats

_ARTICLE_COLUMNS = tuple(column.name for column in fields(Article))
_STATS_COLUMNS = tuple(column.name for column in fields(Stats))


@dataclass(frozen=True, slots=True)
class CachedFeed:
    """A row of `cached_feeds`: the finished XML and its validators."""

    feed_id: str
    xml_header: str
    item_refs: Sequence[str]
    xml_content: str
    etag: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Edition:
    """Which version of a feed's XML is being served."""

    etag: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Memory:
    """A row of `dedup_cache`: this content belongs to that article, remembered until `expires_at`."""

    content_hash: str
    feed_id: str
    article_id: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RecentHeadline:
    """A row of `recent_headlines`: an article under one of the keys that similar headlines share."""

    headline_key: str
    article_id: str
    headline: str
    source: str
    domain: str | None
    published_at: datetime
    lead: str = ""  # how its text begins


class Articles:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def remembered(self, hashes: Iterable[str]) -> dict[str, str]:
        """content_hash -> article_id of what was seen before, in any feed."""
        wanted = sorted(set(hashes))
        return {row["content_hash"]: row["article_id"] for row in self._db.rows("remembered", hashes=wanted)} if wanted else {}

    def carried(self, article_ids: Iterable[str]) -> dict[tuple[str, str], str]:
        """(article_id, feed_id) -> item_hash: which item of a feed brought the story."""
        wanted = sorted(set(article_ids))
        rows = self._db.rows("sources_of", article_ids=wanted) if wanted else []
        return {(row["article_id"], row["feed_id"]): row["item_hash"] for row in rows}

    def remember(self, memories: Iterable[Memory]) -> None:
        rows = {m.content_hash: (m.content_hash, m.feed_id, m.article_id, m.created_at, m.expires_at) for m in memories}
        self._db.write("remember", ("content_hash", "feed_id", "article_id", "created_at", "expires_at"), rows.values())

    def recent_headlines(self, keys: Iterable[str]) -> list[RecentHeadline]:
        wanted = sorted(set(keys))
        return [RecentHeadline(**row) for row in self._db.rows("recent_headlines", keys=wanted)] if wanted else []

    def save_headlines(self, headlines: Iterable[RecentHeadline], *, lifetime: timedelta) -> None:
        columns = tuple(column.name for column in fields(RecentHeadline))
        rows = {h.headline_key: [*(getattr(h, name) for name in columns), h.published_at + lifetime] for h in reversed([*headlines])}
        self._db.write("save_headlines", (*columns, "expires_at"), rows.values())

    def save(self, articles: Iterable[Article]) -> None:
        """Add articles, or update those that the same feed brought before."""
        latest: dict[str, Article] = {}
        for article in articles:
            first = latest.setdefault(article.article_id, article)
            if first is not article and first.feed_id == article.feed_id:  # a later version; another feed's copy changes nothing
                latest[article.article_id] = replace(article, published_at=first.published_at, fetched_at=first.fetched_at)
        self._db.write("save_articles", _ARTICLE_COLUMNS, ([getattr(a, name) for name in _ARTICLE_COLUMNS] for a in latest.values()))
        self._note_changes(latest)

    def set_groups(self, groups: Mapping[str, str]) -> None:
        """article_id -> the group of articles about its story."""
        self._db.write("set_groups", ("article_id", "group_id"), sorted(groups.items()))
        self._note_changes(groups)

    def _note_changes(self, article_ids: Iterable[str]) -> None:
        if self._db.is_copied:
            self._db.write("note_changes", ("article_id",), ([article_id] for article_id in article_ids))

    def save_sources(self, sources: Iterable[tuple[str, str, str]]) -> None:
        """Which feeds carried a story: (article_id, feed_id, item_hash)."""
        rows = {(feed_id, item_hash): (article_id, feed_id, item_hash) for article_id, feed_id, item_hash in sources}
        self._db.write("save_sources", ("article_id", "feed_id", "item_hash"), rows.values())

    def latest(self, feed_ids: Sequence[str], *, items: int, analyses: bool = False) -> dict[str, list[PublishedItem]]:
        """The newest `items` of each feed, newest first; with their analyses, when those are wanted."""
        latest: dict[str, list[PublishedItem]] = defaultdict(list)
        rows = self._db.rows("latest_items", feed_ids=list(feed_ids), items=items)
        found = Analyses(self._db).of(row["article_id"] for row in rows) if analyses else {}
        for row in rows:
            item_hash = row.pop("item_hash")
            values = {"guid": row["guid"] or item_hash, "extra": row["extra"] or {}, "analysis": found.get(row["article_id"])}
            latest[row["feed_id"]].append(PublishedItem(**row | values))
        return latest

    def save_stats(self, stats: Iterable[Stats]) -> None:
        self._db.write("save_stats", _STATS_COLUMNS, ([_stats_value(s, name) for name in _STATS_COLUMNS] for s in stats))

    def stats(self, feed_id: str) -> Stats | None:
        return next(map(to_stats, self._db.rows("get_stats", feed_id=feed_id)), None)

    def stats_of(self, feed_ids: Sequence[str]) -> dict[str, Stats]:
        return {row["feed_id"]: to_stats(row) for row in self._db.rows("stats_of", feed_ids=list(feed_ids))} if feed_ids else {}

    def save_cached(self, cached: Iterable[CachedFeed]) -> None:
        self._db.write(
            "save_cached_feeds",
            ("feed_id", "xml_header", "item_refs", "xml_content", "etag", "created_at", "updated_at"),
            ((c.feed_id, c.xml_header, encode_json(c.item_refs), c.xml_content, c.etag, c.created_at, c.updated_at) for c in cached),
        )

    def cached(self, feed_id: str) -> CachedFeed | None:
        return next((CachedFeed(**row) for row in self._db.rows("cached_feed", feed_id=feed_id)), None)

    def editions(self, feed_ids: Sequence[str]) -> dict[str, Edition]:
        """What is served of these feeds now, without the texts; feeds never published are left out."""
        return {row.pop("feed_id"): Edition(**row) for row in self._db.rows("editions", feed_ids=list(feed_ids))}

    def locked_editions(self, feed_ids: Sequence[str]) -> dict[str, Edition]:
        """The same for whoever is to write the next ones: nobody else does until the commit."""
        return {row.pop("feed_id"): Edition(**row) for row in self._db.rows("lock_editions", feed_ids=list(feed_ids))}

    def save_events(self, events: Iterable[tuple[str, str, dict[str, Any], datetime]]) -> None:
        """The outbox: (event_id, event_type, payload, created_at)."""
        rows = ((event_id, kind, encode_json(payload), at) for event_id, kind, payload, at in events)
        self._db.write("save_events", ("event_id", "event_type", "payload", "created_at"), rows)


def _stats_value(stats: Stats, name: str) -> Any:
    value = getattr(stats, name)
    if name in ("hourly_distribution", "pace"):
        return encode_json(value)
    return encode_json(asdict(value)) if name == "feed_hints" else value
