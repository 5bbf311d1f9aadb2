"""A run's events by the hundred: what a step would yield one by one, written to Dagster's event log in a few statements.

Yielded, an event costs 17 ms on SQLite and 40 ms on Postgres, more than everything else about a feed. The storages can write many at a
time, but no public API says so: this is the one module that uses private names of Dagster. What they do not support is handed back, to
be yielded (`leftover`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from feed_assets.defs.reporting import Event
from feed_assets.model import FeedReport

Context = dg.AssetExecutionContext | dg.OpExecutionContext

_log = logging.getLogger(__name__)
_AT_ONCE = 1000  # events in a transaction
_AT_MOST_SECONDS = 5.0  # that a feed's events wait for more to come

try:
    from dagster._core.events import DagsterEvent, StepMaterializationData
    from dagster._core.events.log import EventLogEntry
    from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable
    from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

    _ENTRY: Any = EventLogEntry  # its constructor has no types
    _PRIVATE_NAMES_ARE_THERE = True
except ImportError:  # another version of Dagster
    _PRIVATE_NAMES_ARE_THERE = False


class Recorder:
    """Collects the events of a step, feed by feed, and writes them; `told` are the feeds whose events are in the log."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        self.told: list[FeedReport] = []
        self._context = context
        self._events: list[Event] = []
        self._reports: list[FeedReport] = []
        self._since = time.monotonic()
        # An evaluation that Dagster has planned belongs into the row of its plan.
        self._checks_are_planned = bool(context.selected_asset_check_keys)

    def record(self, report: FeedReport, events: Iterable[Event]) -> Iterator[Event]:
        """Take what there is to tell of a feed; gives the events that are to be yielded, since they cannot be written here."""
        self._events.extend(events)
        self._reports.append(report)
        if len(self._events) >= _AT_ONCE or time.monotonic() - self._since > _AT_MOST_SECONDS:
            yield from self.flush()

    def flush(self) -> Iterator[Event]:
        left, reports = self._write()
        yield from left
        self.told += reports

    def close(self) -> None:
        """Write what is waiting when the step ends before its time, and nobody takes events any more."""
        left, reports = self._write()
        if not left:
            self.told += reports

    def _write(self) -> tuple[list[Event], list[FeedReport]]:
        events, reports = self._events, self._reports
        self._events, self._reports, self._since = [], [], time.monotonic()
        return leftover(self._context, events, checks_are_planned=self._checks_are_planned) if events else [], reports


def leftover(context: Context, events: Sequence[Event], *, checks_are_planned: bool) -> list[Event]:
    """Write these events and give back those that could not be written: all or none of a kind."""
    storage = context.instance.event_log_storage if _PRIVATE_NAMES_ARE_THERE else None
    if not isinstance(storage, SqlEventLogStorage):
        return list(events)
    materializations = [event for event in events if isinstance(event, dg.AssetMaterialization)]
    evaluations = [event for event in events if isinstance(event, dg.AssetCheckEvaluation)]
    left: list[Event] = []
    for kind, write in ((materializations, _write_materializations), (evaluations, _write_evaluations)):
        if kind is evaluations and checks_are_planned:
            left += kind
            continue
        try:
            write(storage, _entries(context, kind))
        except (AttributeError, TypeError, NotImplementedError) as error:  # a storage that is built in another way
            _log.warning("Dagster's event log takes no events in bulk any more, so each is written by itself: %s", error)
            left += kind
    return left


def _entries(context: Context, events: Sequence[Event]) -> list[EventLogEntry]:
    """Log entries as `yield` would make them."""
    step = context.get_step_execution_context()
    common: dict[str, Any] = {
        "job_name": step.job_name,
        "step_handle": step.step.handle,
        "node_handle": step.step.node_handle,
        "step_kind_value": step.step.kind.value,
        "logging_tags": step.event_tags,
        "pid": os.getpid(),
    }
    entries = []
    for event in events:
        data: StepMaterializationData | dg.AssetCheckEvaluation
        if isinstance(event, dg.AssetMaterialization):
            kind, data, message = dg.DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(event), event.description
        else:
            verdict = "passed" if event.passed else "did not pass"
            message = f"Asset check '{event.check_name}' on '{event.asset_key.to_user_string()}' {verdict}: {event.description}"
            kind, data = dg.DagsterEventType.ASSET_CHECK_EVALUATION, event
        happened = DagsterEvent(event_type_value=kind.value, event_specific_data=data, message=message, **common)
        entry: EventLogEntry = _ENTRY(None, logging.DEBUG, "", step.run_id, time.time(), step.step.key, step.job_name, happened)
        entries.append(entry)
    return entries


def _write_materializations(storage: SqlEventLogStorage, entries: Sequence[EventLogEntry]) -> None:
    for start in range(0, len(entries), _AT_ONCE):
        part = entries[start : start + _AT_ONCE]
        ids = _insert(storage, part, [storage._event_to_row(entry) for entry in part])
        with storage.index_transaction() as connection:
            storage._store_asset_event_tags(connection, part, ids)
            # The table of assets has a row per asset: only its last event counts.
            latest = {entry.get_dagster_event().asset_key: (entry, number) for entry, number in zip(part, ids, strict=True)}
            for entry, number in latest.values():
                storage._store_asset_event(connection, entry, number)


def _write_evaluations(storage: SqlEventLogStorage, entries: Sequence[EventLogEntry]) -> None:
    for start in range(0, len(entries), _AT_ONCE):
        part = entries[start : start + _AT_ONCE]
        rows = [storage._event_to_row(entry) for entry in part]
        ids = _insert(storage, part, rows)
        evaluations = [_evaluation_row(*each) for each in zip(part, rows, ids, strict=True)]
        with storage.index_connection() as connection:
            connection.execute(AssetCheckExecutionsTable.insert(), evaluations)


def _insert(storage: SqlEventLogStorage, entries: Sequence[EventLogEntry], rows: list[dict[str, Any]]) -> list[int]:
    """Write the rows of these entries into the event log; gives their ids in the index."""
    statement = SqlEventLogStorageTable.insert()
    if isinstance(storage, SqliteEventLogStorage):  # the run has a file of its own, beside the index
        with storage.run_connection(entries[0].run_id) as connection:
            connection.execute(statement, rows)
    with storage.index_connection() as connection:
        identified = statement.returning(SqlEventLogStorageTable.c.id, sort_by_parameter_order=True)
        return [int(number) for number in connection.execute(identified, rows).scalars()]


def _evaluation_row(entry: EventLogEntry, row: Mapping[str, Any], number: int) -> dict[str, Any]:
    evaluation = entry.get_dagster_event().asset_check_evaluation_data
    return {
        "asset_key": evaluation.asset_key.to_string(),
        "check_name": evaluation.check_name,
        "partition": evaluation.partition,
        "run_id": entry.run_id,
        "execution_status": "SUCCEEDED" if evaluation.passed else "FAILED",
        "evaluation_event": row["event"],
        "evaluation_event_timestamp": row["timestamp"],
        "evaluation_event_storage_id": number,
    }
