"""`raw_fetches`, `raw_items`, `fetch_history`: what came over the wire, and every attempt at it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime

from feed_assets.model import FetchResult, Item, ItemKeys, KnownItem, Outcome
from feed_assets.store.encoding import compress, decompress, encode_json
from feed_assets.store.engine import Connection, Row

_ITEM_COLUMNS = (
    "feed_id",
    "item_hash",
    "guid",
    "url",
    "title",
    "author",
    "published_at",
    "content",
    "raw",
    "content_hash",
    "fetch_id",
    "first_seen_at",
    "last_seen_at",
    "id_key",
    "link_key",
    "title_key",
    "text_key",
)
_HISTORY_COLUMNS = (
    "fetch_id",
    "feed_id",
    "fetch_time",
    "status_code",
    "outcome",
    "articles_found",
    "articles_new",
    "bytes",
    "duration_ms",
    "error_message",
    "run_id",
)


class Items:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def known_by_id(self, wanted: Iterable[tuple[str, str]]) -> dict[str, list[KnownItem]]:
        """feed_id -> stored items with one of these ids: (feed_id, id_key)."""
        return self._known("known_by_id", wanted)

    def known_alike(self, wanted: Iterable[tuple[str, str]]) -> dict[str, list[KnownItem]]:
        """feed_id -> stored items whose link, title or text has one of these keys: (feed_id, key)."""
        return self._known("known_alike", wanted)

    def all_known(self, feed_ids: Sequence[str]) -> dict[str, list[KnownItem]]:
        return _by_feed(self._db.rows("all_known", feed_ids=list(feed_ids)))

    def publication_times(self) -> list[tuple[str, datetime]]:
        """When items were published, as far as publishers say so believably: (feed_id, published_at)."""
        return [(row["feed_id"], row["published_at"]) for row in self._db.rows("publication_times")]

    def published(self, feed_ids: Sequence[str], *, since: datetime) -> dict[str, list[datetime]]:
        """When items that these feeds brought since then were published, as scheduling took it when they came; in order."""
        moments: dict[str, list[datetime]] = defaultdict(list)
        for row in self._db.rows("published_since", feed_ids=list(feed_ids), since=since):
            moments[row["feed_id"]].append(row["published_at"])
        return moments

    def counts(self, feed_ids: Sequence[str]) -> dict[str, int]:
        """How many items of each feed are stored; feeds without any are left out."""
        return {row["feed_id"]: row["items"] for row in self._db.rows("item_counts", feed_ids=list(feed_ids))} if feed_ids else {}

    def facts(self, feed_id: str) -> Row:
        """What became of a feed's items."""
        return self._db.rows("item_facts", feed_id=feed_id)[0]

    def _known(self, query: str, wanted: Iterable[tuple[str, str]]) -> dict[str, list[KnownItem]]:
        pairs = sorted(set(wanted))
        return _by_feed(self._db.rows(query, feed_ids=[feed_id for feed_id, _ in pairs], keys=[key for _, key in pairs])) if pairs else {}

    def save(self, items: Iterable[tuple[str, str, datetime, Item, ItemKeys]]) -> None:
        """Store new and changed items: (feed_id, fetch_id, seen at, item, what else it may be recognised by)."""
        self._db.write("save_raw_items", _ITEM_COLUMNS, (_item_row(*each) for each in items))

    def touch(self, seen: Iterable[tuple[str, str, datetime]]) -> None:
        """Known items were seen again: (feed_id, item_hash, seen at)."""
        self._db.write("touch_raw_items", ("feed_id", "item_hash", "last_seen_at"), seen)

    def save_bodies(self, results: Iterable[tuple[str, str, FetchResult]]) -> None:
        """Store responses for replay: (fetch_id, body_sha256, result)."""
        self._db.write(
            "save_raw_fetches",
            ("fetch_id", "feed_id", "fetched_at", "status_code", "url", "headers", "body", "body_sha256"),
            (
                (fetch_id, r.feed_id, r.fetched_at, r.status_code, r.url, encode_json(dict(r.headers)), compress(r.body or b""), sha256)
                for fetch_id, sha256, r in results
            ),
        )

    def responses(self, feed_ids: Sequence[str]) -> list[str]:
        """The fetch_ids of all stored responses of these feeds, in the order they came."""
        return [row["fetch_id"] for row in self._db.rows("responses_of", feed_ids=list(feed_ids))]

    def bodies(self, fetch_ids: Sequence[str]) -> list[tuple[str, FetchResult]]:
        """(fetch_id, response as it came), in the order they came."""
        return [(row["fetch_id"], _to_result(row)) for row in self._db.rows("raw_fetches", fetch_ids=list(fetch_ids))]

    def save_first(self, result: FetchResult) -> None:
        """Keep the response that a feed was added with: it is its first fetch, and no second one is needed."""
        columns = ("feed_id", "fetched_at", "outcome", "reason", "status_code", "url", "headers", "body")
        headers, body = encode_json(dict(result.headers)), compress(result.body) if result.body is not None else None
        row = (result.feed_id, result.fetched_at, result.outcome.value, result.reason, result.status_code, result.url, headers, body)
        self._db.write("save_first_response", columns, [row])

    def take_first(self, feed_ids: Sequence[str]) -> dict[str, FetchResult]:
        """The responses that these feeds were added with; they are taken once."""
        if not feed_ids:
            return {}
        found = {
            row["feed_id"]: replace(_to_result(row), outcome=Outcome(row["outcome"]), reason=row["reason"])
            for row in self._db.rows("first_responses", feed_ids=list(feed_ids))
        }
        if found:
            self._db.run("drop_first_responses", feed_ids=list(found))
        return found

    def save_history(self, rows: Iterable[Row]) -> None:
        self._db.write("save_history", _HISTORY_COLUMNS, ([row[name] for name in _HISTORY_COLUMNS] for row in rows))

    def history(self, feed_id: str, *, rows: int) -> list[Row]:
        return self._db.rows("feed_history", feed_id=feed_id, rows=rows)


def _item_row(feed_id: str, fetch_id: str, seen_at: datetime, item: Item, keys: ItemKeys) -> Sequence[object]:
    entry = item.entry
    extra = {
        "updated_at": entry.updated_at.isoformat() if entry.updated_at else None,
        "categories": list(entry.categories),
        "enclosures": [asdict(enclosure) for enclosure in entry.enclosures],
    }
    raw = encode_json({name: value for name, value in extra.items() if value})
    return (
        feed_id,
        item.item_hash,
        entry.guid,
        entry.url,
        entry.title,
        entry.author,
        entry.published_at,
        entry.content,
        raw,
        item.content_hash,
        fetch_id,
        seen_at,
        seen_at,
        item.id_key or item.item_hash,
        keys.link,
        keys.title,
        keys.text,
    )


def _by_feed(rows: Iterable[Row]) -> dict[str, list[KnownItem]]:
    known: dict[str, list[KnownItem]] = defaultdict(list)
    for row in rows:
        keys = ItemKeys(row["link_key"], row["title_key"], row["text_key"])
        known[row["feed_id"]].append(KnownItem(row["item_hash"], row["id_key"], row["content_hash"], keys, row["published_at"]))
    return known


def _to_result(row: Row) -> FetchResult:
    return FetchResult(
        feed_id=row["feed_id"],
        url=row["url"],
        fetched_at=row["fetched_at"],
        outcome=Outcome.SUCCESS,
        status_code=row["status_code"],
        headers=row["headers"] or {},
        body=decompress(row["body"]) if row["body"] is not None else None,
    )
