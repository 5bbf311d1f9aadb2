"""What every command starts from: settings and the store."""

from __future__ import annotations

from contextlib import ExitStack

from feed_assets.settings import Settings, settings
from feed_assets.store import Store, open_store

_stores = ExitStack()


def opened() -> tuple[Settings, Store]:
    current = settings()
    store = open_store(current.store_url)
    _stores.callback(store.close)
    return current, store


def close_all() -> None:
    """At the end of a command: connections to a server are not left to the garbage collector."""
    _stores.close()
