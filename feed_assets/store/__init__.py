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
from feed_assets.store.analyses import Analyses, AnalysisQueue, AnalysisResult, AnalyzerVersion, ClaimedArticle, day_of
from feed_assets.store.articles import Articles, CachedFeed, Edition, Memory, RecentHeadline
from feed_assets.store.batches import Batches, InFlight
from feed_assets.store.deliveries import Backlog, Deliveries, Delivery, Tried
from feed_assets.store.engine import Connection, Engine
from feed_assets.store.feeds import Feeds
from feed_assets.store.groups import Group, GroupingQueue, Groups
from feed_assets.store.hosts import Hosts
from feed_assets.store.housekeeping import RULES as PRUNED
from feed_assets.store.housekeeping import Housekeeping, Outdated
from feed_assets.store.items import Items
from feed_assets.store.migrations import may_write, migrate, schema_versions
from feed_assets.store.reading import Address, Reading, Wanted
from feed_assets.store.schedules import Queue, Schedules
from feed_assets.store.totals import DURATIONS, Numbers, Signal, Totals
from feed_assets.urls import mask_password

__all__ = [
    "DURATIONS",
    "PRUNED",
    "Address",
    "AnalysisQueue",
    "AnalysisResult",
    "AnalyzerVersion",
    "Backlog",
    "CachedFeed",
    "ClaimedArticle",
    "Delivery",
    "Edition",
    "Group",
    "GroupingQueue",
    "InFlight",
    "Memory",
    "Outdated",
    "Queue",
    "RecentHeadline",
    "Signal",
    "Store",
    "Totals",
    "Transaction",
    "Tried",
    "Wanted",
    "connect",
    "database_file",
    "day_of",
    "open_readers",
    "open_store",
]


_READERS_WAIT = 3.0  # seconds, for a server that does not answer
_LONGEST_QUERY = 10.0


@dataclass(frozen=True, slots=True)
class Transaction:
    feeds: Feeds
    schedules: Schedules
    batches: Batches
    items: Items
    articles: Articles
    groups: Groups
    analyses: Analyses
    hosts: Hosts
    reading: Reading
    numbers: Numbers
    housekeeping: Housekeeping
    deliveries: Deliveries

    @classmethod
    def over(cls, connection: Connection) -> Transaction:
        return cls(
            Feeds(connection),
            Schedules(connection),
            Batches(connection),
            Items(connection),
            Articles(connection),
            Groups(connection),
            Analyses(connection),
            Hosts(connection),
            Reading(connection),
            Numbers(connection),
            Housekeeping(connection),
            Deliveries(connection),
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

    def schema_versions(self) -> tuple[int | None, int]:
        """The schema's version in the database, if it has one, and in the code."""
        return schema_versions(self.engine)

    def may_write(self) -> bool:
        return may_write(self.engine)

    def vacuum(self, *, thorough: bool = False) -> None:
        """Give space back; `thorough` whatever it costs, else if it is worth it."""
        self.engine.vacuum(thorough=thorough)

    def size(self) -> int:
        """Bytes on disk."""
        return self.engine.size()

    def backup(self, target: Path) -> int:
        """A copy of everything at one moment, in a new file; its size in bytes."""
        return self.engine.backup(target)

    def close(self) -> None:
        self.engine.close()


def connect(url: str, *, patience: float | None = None) -> Store:
    """The store behind a DATABASE_URL, as it is; `patience` is how many seconds to wait for it, if not the usual."""
    store = Store(_engine(url))
    if patience is not None:
        store.engine.patience = patience
    return store


def database_file(url: str) -> Path | None:
    """The file behind a DATABASE_URL, if it is one."""
    return _duckdb_path(url)


def open_store(url: str) -> Store:
    """The store behind a DATABASE_URL, with its schema up to date."""
    store = connect(url)
    store.migrate()
    return store


def open_readers(url: str, *, memory_mb: int, most_articles: int) -> Store:
    """The same for a process that mostly reads: on DuckDB from a copy of its own, on Postgres through its pool."""
    path = _duckdb_path(url)
    if path is None:
        from feed_assets.store.postgres import PostgresEngine

        engine = PostgresEngine(url, patience=_READERS_WAIT)  # whoever asks wants an answer, if only that there is none
        engine.longest_query = _LONGEST_QUERY
        return Store(engine)
    from feed_assets.store.replica import Replica

    return Store(Replica(path, memory_mb=memory_mb, most_articles=most_articles))


def _engine(url: str) -> Engine:
    if (path := _duckdb_path(url)) is not None:
        from feed_assets.store.duckdb import DuckDBEngine

        return DuckDBEngine(path)
    if urlsplit(url).scheme in ("postgresql", "postgres"):
        from feed_assets.store.postgres import PostgresEngine

        return PostgresEngine(url)
    raise SettingsError(f"{mask_password(url)!r} is neither duckdb:///... nor postgresql://...")


def _duckdb_path(url: str) -> Path | None:
    parts = urlsplit(url)
    if parts.scheme != "duckdb":
        return None
    # As SQLAlchemy has it: three slashes before a relative path, four before an absolute one.
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or path in ("", "/", ":memory:"):
        raise SettingsError(f"{url!r} names no file; write duckdb:///path/to/feeds.duckdb, with three slashes or four")
    return Path(path)
