"""The database: can it be reached, is it ours, may it be written, is its schema the one that this code knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from feed_assets.cli.doctor.feeds import check_clock, check_feeds
from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning
from feed_assets.errors import FeedAssetsError
from feed_assets.overview import look
from feed_assets.settings import PREFIX
from feed_assets.store import Store, connect, database_file
from feed_assets.urls import mask_password
from feed_assets.words import size_of

_PATIENCE = 2.0  # seconds for a file that another process has, or a server that does not answer
_OTHER = f"or set {PREFIX}DATABASE_URL to another"
# What an engine's words call for. The first that is found counts.
_REMEDIES = (
    ("password authentication failed", f"correct the user or the password in {PREFIX}DATABASE_URL"),
    ("no password supplied", f"put the password into {PREFIX}DATABASE_URL: postgresql://user:password@host/name"),
    ("role", f"correct the user in {PREFIX}DATABASE_URL, or make it: createuser NAME"),
    ("does not exist", f"make the database: createdb NAME; {_OTHER}"),
    ("refused", f"start the Postgres server, or correct host and port in {PREFIX}DATABASE_URL"),
    ("timeout", f"look whether the server and the network to it are up, or correct host and port in {PREFIX}DATABASE_URL"),
    ("translate host name", f"correct the host in {PREFIX}DATABASE_URL"),
    ("resolve host", f"correct the host in {PREFIX}DATABASE_URL"),
    ("No such file", f"start the Postgres server, or correct host and port in {PREFIX}DATABASE_URL"),
    ("in use by another process", "close what has it open: a DuckDB shell or notebook, or a killed process (`fuser FILE` names it)"),
    ("not a valid DuckDB", f"move that file away, {_OTHER}"),
    ("as a database", f"move that file away, or give it the right owner; {_OTHER}"),
    ("cannot create", f"make the folder writable, {_OTHER}"),
)


def check_database(case: Case) -> Iterator[Finding]:
    """And, when it can be used, what its tables tell."""
    if f"{PREFIX}DATABASE_URL" in case.trouble:
        yield problem("database", "not looked at: DATABASE_URL cannot be used", f"correct {PREFIX}DATABASE_URL")
        return
    url = case.settings.store_url
    try:
        file = database_file(url)
        if file is not None and not file.exists() and _can_be_made(file.parent):
            yield ok("database", f"{file} is not there yet; the first command makes it")
            return
        store = connect(url, patience=_PATIENCE)
        try:
            yield from _examine(store, case)
        finally:
            store.close()
    except FeedAssetsError as error:
        yield problem("database", str(error), remedy_for(str(error)))


def remedy_for(reason: str) -> str:
    return next((remedy for words, remedy in _REMEDIES if words in reason), f"see what `feed-assets db migrate` says, {_OTHER}")


def _examine(store: Store, case: Case) -> Iterator[Finding]:
    shown = mask_password(case.settings.store_url)
    if not store.may_write():
        remedy = f"GRANT CREATE on the schema to the user, and connect to a server that is no read-only copy; {_OTHER}"
        yield problem("database", f"{shown} answers, but nothing can be written", remedy)
        return
    current, latest = store.schema_versions()
    if current is None:
        yield ok("database", f"{shown} is empty; the first command makes its tables")
    elif current > latest:
        newer = f"{shown} was written by a newer feed_assets: schema version {current}, this one knows {latest}"
        yield problem("database", newer, "upgrade feed_assets: git pull, then make up")
    elif current < latest:
        yield warning("database", f"{shown} is at schema version {current} of {latest}", "feed-assets db migrate")
    else:
        with store.read() as tx:
            moments = tx.numbers.moments()
        yield check_clock(moments, case.now)
        found = look(store, case.settings, case.now)
        yield ok("database", f"{shown}, {size_of(found.bytes)}, schema version {current}")
        yield from check_feeds(found, case.settings)


def _can_be_made(folder: Path) -> bool:
    nearest = next((each for each in (folder, *folder.absolute().parents) if each.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)
