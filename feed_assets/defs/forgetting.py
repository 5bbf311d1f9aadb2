"""Old runs out of Dagster's own storage, which would else grow for ever: with their events, tags, logs and files.

What people look at stays: the newest materialization of each partition (it is still materialized, with its metadata and versions) and the
newest verdict of each check. Dagster's public API deletes a run with all that it brought, and leaves its file behind; so this is, beside
`bulk.py`, a module that uses private names of Dagster. Without them, runs that brought what is still the newest are kept whole.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as db

_log = logging.getLogger(__name__)
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_PORTION = 100  # runs in a transaction
_PAUSE = 0.05  # seconds between two portions: runs that are going on write here, too
_TICK_LOGS = timedelta(days=7)  # dagster.yaml forgets ticks that went well sooner
_WASTE = 0.25  # of a SQLite file, before it is written anew

try:
    from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES
    from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetEventTagsTable, SqlEventLogStorageTable
    from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
    from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
    from dagster._core.storage.runs.schema import BackfillTagsTable, BulkActionsTable, RunsTable, RunTagsTable
    from dagster._core.storage.runs.sql_run_storage import SqlRunStorage

    _PRIVATE_NAMES_ARE_THERE = True
except ImportError:  # another version of Dagster
    _PRIVATE_NAMES_ARE_THERE = False


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much is gone."""

    runs: int = 0
    events: int = 0
    checks: int = 0
    backfills: int = 0
    tick_logs: int = 0

    def __add__(self, other: Forgotten) -> Forgotten:
        return Forgotten(
            self.runs + other.runs,
            self.events + other.events,
            self.checks + other.checks,
            self.backfills + other.backfills,
            self.tick_logs + other.tick_logs,
        )


def outdated_runs(instance: dg.DagsterInstance, *, before: datetime, most: int) -> list[str]:
    """Runs that ended before then, and the oldest of those that are too many; never one that has not ended. Oldest first."""
    newest_first = instance.get_run_ids(dg.RunsFilter(statuses=_FINISHED))
    aged = set(instance.get_run_ids(dg.RunsFilter(statuses=_FINISHED, updated_before=before)))
    aged.update(newest_first[most:])
    return [run_id for run_id in reversed(newest_first) if run_id in aged]


def forget(
    instance: dg.DagsterInstance, *, before: datetime, most: int, pause: Callable[[float], None] = time.sleep
) -> Iterator[Forgotten]:
    """Delete outdated runs and what is left of earlier ones, portion by portion."""
    runs = outdated_runs(instance, before=before, most=most)
    events, kept = instance.event_log_storage, instance.run_storage
    if not (_PRIVATE_NAMES_ARE_THERE and isinstance(events, SqlEventLogStorage) and isinstance(kept, SqlRunStorage)):
        yield from _publicly(instance, runs)
        return
    try:
        for portion in _portions(runs):
            yield _forget_runs(instance, events, kept, portion)
            pause(_PAUSE)
        for portion in _portions(_leftovers(events, kept)):
            yield _forget_runs(instance, events, kept, portion)
            pause(_PAUSE)
        yield Forgotten(backfills=_forget_backfills(kept, before), tick_logs=_forget_tick_logs(instance, before))
        _give_space_back(instance)
    except (AttributeError, TypeError, NotImplementedError) as error:  # a storage that is built in another way
        _log.warning("Dagster's storage is built in another way than this module knows: %s", error)
        yield from _publicly(instance, runs)


def _publicly(instance: dg.DagsterInstance, runs: Sequence[str]) -> Iterator[Forgotten]:
    """Through Dagster's public API: whole runs only, so those that brought what is still the newest stay."""
    for run_id in runs:
        if instance.get_run_by_id(run_id) is not None and not _brought_the_newest(instance, run_id):
            instance.delete_run(run_id)
            yield Forgotten(runs=1)


def _brought_the_newest(instance: dg.DagsterInstance, run_id: str) -> bool:
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event = entry.get_dagster_event()
        key, partition = event.asset_key, event.partition
        if key is None:
            continue
        asked = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition] if partition else None)
        newest = instance.fetch_materializations(asked, limit=1).records
        if newest and newest[0].run_id == run_id:
            return True
    return False


def _portions(runs: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (runs[start : start + _PORTION] for start in range(0, len(runs), _PORTION))


def _forget_runs(instance: dg.DagsterInstance, events: SqlEventLogStorage, kept: SqlRunStorage, runs: Sequence[str]) -> Forgotten:
    """The runs themselves go last: whatever stops this, the next time finds them again."""
    with events.index_connection() as connection:
        gone, checks = _forget_events(connection, runs), _forget_checks(connection, runs)
    for run_id in set(runs) & events.get_concurrency_run_ids():
        events.free_concurrency_slots_for_run(run_id)
    for run_id in runs:
        with contextlib.suppress(NotImplementedError, OSError):
            instance.compute_log_manager.delete_logs(prefix=[run_id])
        if isinstance(events, SqliteEventLogStorage):
            _delete_file(Path(events.path_for_shard(run_id)))
    with kept.connect() as connection:
        connection.execute(RunTagsTable.delete().where(RunTagsTable.c.run_id.in_(runs)))  # SQLite's do not follow their run
        deleted = connection.execute(RunsTable.delete().where(RunsTable.c.run_id.in_(runs))).rowcount
    return Forgotten(runs=deleted, events=gone, checks=checks)


def _forget_events(connection: db.Connection, runs: Iterable[str]) -> int:
    event = SqlEventLogStorageTable.c
    ours = event.run_id.in_(list(runs))
    lost = db.select(event.id).where(ours, event.dagster_event_type.in_(_telling()), _superseded())
    connection.execute(AssetEventTagsTable.delete().where(AssetEventTagsTable.c.event_id.in_(lost)))
    doomed = db.or_(event.dagster_event_type.is_(None), event.dagster_event_type.not_in(_telling()), _superseded())
    return connection.execute(SqlEventLogStorageTable.delete().where(ours, doomed)).rowcount


def _telling() -> list[str]:
    """Events by which the UI tells what a partition is like."""
    return [dg.DagsterEventType.ASSET_MATERIALIZATION.value, dg.DagsterEventType.ASSET_OBSERVATION.value]


def _superseded() -> Any:
    """Whether there is a newer event of its kind for the same partition of the same asset."""
    event, newer = SqlEventLogStorageTable.c, SqlEventLogStorageTable.alias("newer")
    same = db.and_(newer.c.asset_key == event.asset_key, newer.c.dagster_event_type == event.dagster_event_type, newer.c.id > event.id)
    return db.or_(
        db.exists().where(same, newer.c.partition == event.partition),
        db.and_(event.partition.is_(None), db.exists().where(same, newer.c.partition.is_(None))),
    )


def _forget_checks(connection: db.Connection, runs: Iterable[str]) -> int:
    check = AssetCheckExecutionsTable.c
    doomed = db.or_(check.execution_status == "PLANNED", check.id.not_in(_newest_checks()))
    return connection.execute(AssetCheckExecutionsTable.delete().where(check.run_id.in_(list(runs)), doomed)).rowcount


def _newest_checks() -> Any:
    check = AssetCheckExecutionsTable.c
    return (
        db.select(db.func.max(check.id))
        .where(check.execution_status != "PLANNED")
        .group_by(check.asset_key, check.check_name, check.partition)
    )


def _leftovers(events: SqlEventLogStorage, kept: SqlRunStorage) -> list[str]:
    """Forgotten runs of which something is stored that is no longer the newest, or whose file is still there."""
    event, check = SqlEventLogStorageTable.c, AssetCheckExecutionsTable.c
    with events.index_connection() as connection:
        found = set(
            connection.execute(db.select(event.run_id).distinct().where(event.dagster_event_type.in_(_telling()), _superseded())).scalars()
        )
        found |= set(connection.execute(db.select(check.run_id).distinct().where(check.id.not_in(_newest_checks()))).scalars())
    if isinstance(events, SqliteEventLogStorage):
        found |= set(events.get_all_run_ids())
    wanted = sorted(run_id for run_id in found if run_id)  # events without a run have an empty id
    there: set[str] = set()
    for portion in _portions(wanted):
        with kept.connect() as connection:
            there |= set(connection.execute(db.select(RunsTable.c.run_id).where(RunsTable.c.run_id.in_(portion))).scalars())
    return [run_id for run_id in wanted if run_id not in there]


def _forget_backfills(kept: SqlRunStorage, before: datetime) -> int:
    over = [status.value for status in BULK_ACTION_TERMINAL_STATUSES]
    action = BulkActionsTable.c
    with kept.connect() as connection:
        old = db.and_(action.status.in_(over), action.timestamp < before.replace(tzinfo=None))
        keys = list(connection.execute(db.select(action.key).where(old)).scalars())
        for portion in _portions(keys):
            connection.execute(BackfillTagsTable.delete().where(BackfillTagsTable.c.backfill_id.in_(portion)))
            connection.execute(BulkActionsTable.delete().where(action.key.in_(portion)))
    return len(keys)


def _forget_tick_logs(instance: dg.DagsterInstance, before: datetime) -> int:
    """What ticks logged lies in a file for each, below the name of its sensor; nobody else deletes them."""
    manager = instance.compute_log_manager
    if not isinstance(manager, LocalComputeLogManager):
        return 0
    latest = max(before.timestamp(), time.time() - _TICK_LOGS.total_seconds())
    folder = Path(manager.get_captured_local_path(["any"], "err")).parent
    old = [
        path
        for path in folder.glob("*/*/*.*")
        if path.parent.name != "compute_logs" and path.suffix in (".err", ".out", ".complete") and path.stat().st_mtime < latest
    ]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _give_space_back(instance: dg.DagsterInstance) -> None:
    """Write SQLite files anew that are empty for a good part. One that is in use just then has its turn another night."""
    events, kept, ticks = instance.event_log_storage, instance.run_storage, instance.schedule_storage
    if not isinstance(events, SqliteEventLogStorage):
        return  # Postgres' autovacuum does it
    paths = [Path(events.path_for_shard("index"))]
    for storage in (kept, ticks):
        with contextlib.suppress(AttributeError), storage.connect() as connection:  # type: ignore[union-attr]
            paths.append(Path(connection.engine.url.database or ""))
    for path in filter(Path.is_file, paths):
        with (
            contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as raw,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            pages, free = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
            if free > _WASTE * pages:
                raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _delete_file(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        name.unlink(missing_ok=True)
