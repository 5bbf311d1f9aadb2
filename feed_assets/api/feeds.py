"""`/api/feeds`: feeds with their schedules and statistics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from feed_assets.api.access import StoreAccess
from feed_assets.errors import UnknownFeed
from feed_assets.urls import mask_password

router = APIRouter(prefix="/api", tags=["feeds"])


@router.get("/feeds")
def feeds(store: StoreAccess) -> dict[str, list[dict[str, Any]]]:
    """All feeds."""
    with store.read() as tx:
        return {"feeds": [_shown(row) for row in tx.feeds.overview()]}


@router.get("/feeds/{feed_id}")
def feed(store: StoreAccess, feed_id: str) -> dict[str, Any]:
    """One feed, with its next run and the reasons for it, and its latest fetches."""
    with store.read() as tx:
        if tx.feeds.get(feed_id) is None:
            raise UnknownFeed(feed_id)
        row = next(iter(tx.feeds.overview(feed_id)), None)
        history = tx.items.history(feed_id, rows=20)
    if row is None:
        raise UnknownFeed(feed_id)
    return _shown(row) | {"history": history}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Without what is nobody's business: passwords in URLs."""
    return row | {"url": mask_password(row["url"])}
