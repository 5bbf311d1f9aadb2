"""`/api/feeds`: feeds with their schedules and statistics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from feed_assets.api.access import StoreAccess
from feed_assets.api.json import Json
from feed_assets.api.problems import problems_of
from feed_assets.api.schema import FeedDetail, Feeds
from feed_assets.catalog import state_of
from feed_assets.errors import UnknownFeed
from feed_assets.urls import mask_password

router = APIRouter(prefix="/api", tags=["feeds"])
_ATTEMPTS = 20


@router.get("/feeds", response_class=Json, response_model=None, responses={200: {"model": Feeds}, **problems_of(503)})
@router.head("/feeds", include_in_schema=False)
def feeds(store: StoreAccess) -> Response:
    """All feeds."""
    with store.read() as tx:
        return Json({"feeds": [shown(row) for row in tx.feeds.overview()]})


@router.get("/feeds/{feed_id}", response_class=Json, response_model=None, responses={200: {"model": FeedDetail}, **problems_of(404, 503)})
@router.head("/feeds/{feed_id}", include_in_schema=False)
def feed(store: StoreAccess, feed_id: str) -> Response:
    """One feed, with its next run and the reasons for it, and its latest fetches."""
    if "\x00" in feed_id:
        raise UnknownFeed(feed_id)
    with store.read() as tx:
        row = next(iter(tx.feeds.overview(feed_id)), None)
        history = tx.items.history(feed_id, rows=_ATTEMPTS) if row else []
    if row is None:
        raise UnknownFeed(feed_id)
    return Json(shown(row) | {"history": history})


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """With the state in a word, without what is nobody's business: passwords in URLs."""
    hidden = {name: mask_password(row[name]) for name in ("url", "redirect_url") if row[name]}
    return row | hidden | {"state": state_of(row)}
