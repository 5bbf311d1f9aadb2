"""`/rss`: the finished XML, with the manners that we ask of others: ETag, Last-Modified, max-age, 304."""

from __future__ import annotations

from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response

from feed_assets.api.access import StoreAccess
from feed_assets.model import Feed
from feed_assets.store import CachedFeed, Transaction

router = APIRouter(tags=["feeds"])
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/rss+xml": {}}},
    304: {"description": "Not modified"},
    403: {"description": "The feed is disabled"},
}


@router.get("/rss", response_class=Response, responses=_ANSWERS)
@router.head("/rss", include_in_schema=False)
def by_url(request: Request, store: StoreAccess, url: str) -> Response:
    """The cached RSS document of the feed with this URL."""
    with store.read() as tx:
        feed = next((feed for feed in tx.feeds.at_url(url) if feed.deleted_at is None), None)
        return _serve(request, tx, feed, url)


@router.get("/rss/{feed_id}", response_class=Response, responses=_ANSWERS)
@router.head("/rss/{feed_id}", include_in_schema=False)
def by_id(request: Request, store: StoreAccess, feed_id: str) -> Response:
    """The cached RSS document of a feed."""
    with store.read() as tx:
        feed = tx.feeds.get(feed_id)
        return _serve(request, tx, feed if feed and feed.deleted_at is None else None, feed_id)


def _serve(request: Request, tx: Transaction, feed: Feed | None, asked: str) -> Response:
    if feed is None:
        raise HTTPException(404, f"there is no feed {asked!r}")
    if not feed.enabled:
        raise HTTPException(403, f"feed {feed.feed_id!r} is disabled")
    cached = tx.articles.cached(feed.feed_id)
    schedule = tx.schedules.get(feed.feed_id)
    if cached is None:
        raise HTTPException(404, f"nothing of feed {feed.feed_id!r} is published yet; it has not been fetched with success so far")
    max_age = min((schedule.interval_seconds if schedule else None) or 60, 3600)
    headers = {
        "ETag": cached.etag,
        "Last-Modified": format_datetime(cached.updated_at, usegmt=True),
        "Cache-Control": f"public, max-age={max_age}",
    }
    if _is_current(request, cached):
        return Response(status_code=304, headers=headers)
    return Response(cached.xml_content, media_type="application/rss+xml; charset=utf-8", headers=headers)


def _is_current(request: Request, cached: CachedFeed) -> bool:
    """Whether the client has this version already. If-None-Match, when given, decides alone."""
    if (tags := request.headers.get("If-None-Match")) is not None:
        return tags.strip() == "*" or cached.etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")]
    try:
        return cached.updated_at <= parsedate_to_datetime(request.headers["If-Modified-Since"])
    except (KeyError, TypeError, ValueError):
        return False
