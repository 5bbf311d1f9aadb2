"""What every command starts from: settings and the store."""

from __future__ import annotations

from feed_assets.settings import Settings, settings
from feed_assets.store import Store, open_store


def opened() -> tuple[Settings, Store]:
    current = settings()
    return current, open_store(current.store_url)
