"""The store: one interface, two engines.

`with store.begin() as tx:` is one transaction; `tx.feeds`, `tx.schedules`, `tx.items` and so on are its tables.
Everything inside the block is committed together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from feed_assets.errors import SettingsError
from feed_assets.store.articles import Articles, CachedFeed, Edition, Memory, RecentHeadline
from feed_assets.store.batches import Batches, InFlight
from feed_assets.store.engine import Connection, Engine
from feed_assets.store.feeds import Feeds
from feed_assets.store.hosts import Hosts
from feed_assets.store.housekeeping import Housekeeping
from feed_assets.store.items import Items
from feed_assets.store.migrations import migrate
from feed_assets.store.schedules import Queue, Schedules
from feed_assets.urls import mask_password

__all__ = ["CachedFeed", "Edition", "InFlight", "Memory", "Queue", "RecentHeadline", "Store", "Transaction", "connect", "open_store"]


@dataclass(frozen=True, slots=True)
class Transaction:
    feeds: Feeds
    schedules: Schedules
    batches: Batches
    items: Items
    articles: Articles
    hosts: Hosts
    housekeeping: Housekeeping

    @classmethod
    def over(cls, connection: Connection) -> Transaction:
        return cls(
            Feeds(connection),
            Schedules(connection),
            Batches(connection),
            Items(connection),
            Articles(connection),
            Hosts(connection),
            Housekeeping(connection),
        )


class Store:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """A transaction that may write."""
        with self.engine.begin() as connection:
            yield Transaction.over(connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A transaction that only looks."""
        with self.engine.begin(read_only=True) as connection:
            yield Transaction.over(connection)

    def migrate(self) -> list[str]:
        return migrate(self.engine)

    def vacuum(self) -> None:
        self.engine.vacuum()

    def close(self) -> None:
        self.engine.close()


def connect(url: str) -> Store:
    """The store behind a DATABASE_URL, as it is."""
    return Store(_engine(url))


def open_store(url: str) -> Store:
    """The store behind a DATABASE_URL, with its schema up to date."""
    store = connect(url)
    store.migrate()
    return store


def _engine(url: str) -> Engine:
    parts = urlsplit(url)
    if parts.scheme == "duckdb":
        from feed_assets.store.duckdb import DuckDBEngine

        # As SQLAlchemy has it: three slashes before a relative path, four before an absolute one.
        path = unquote(parts.path.removeprefix("/"))
        if parts.netloc or path in ("", "/", ":memory:"):
            raise SettingsError(f"{url!r} names no file; write duckdb:///path/to/feeds.duckdb, with three slashes or four")
        return DuckDBEngine(Path(path))
    if parts.scheme in ("postgresql", "postgres"):
        from feed_assets.store.postgres import PostgresEngine

        return PostgresEngine(url)
    raise SettingsError(f"{mask_password(url)!r} is neither duckdb:///... nor postgresql://...")
