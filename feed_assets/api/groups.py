"""`/api/groups`: stories that several publishers tell, and their articles."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import Response

from feed_assets.api.access import SettingsAccess, StoreAccess
from feed_assets.api.articles import Limit, Moment, clean, cursor_at, place, shown, utc
from feed_assets.api.json import Json
from feed_assets.api.problems import problems_of
from feed_assets.api.schema import GroupDetail, Groups
from feed_assets.refresh import utc_now
from feed_assets.store import Group, Wanted

router = APIRouter(prefix="/api", tags=["stories"])
CURSOR = "^[0-9]{1,9}~-?[0-9]{1,17}~[0-9A-Za-z]{1,64}$"
MOST_ARTICLES = 500


@router.get("/groups", response_class=Json, response_model=None, responses={200: {"model": Groups}, **problems_of(400, 503)})
@router.head("/groups", include_in_schema=False)
def groups(
    store: StoreAccess,
    settings: SettingsAccess,
    since: Annotated[
        Moment, Query(description="Told then or later (ISO 8601; UTC without a zone); by default in GROUPING_WINDOW_HOURS.")
    ] = None,
    after: Annotated[str | None, Query(description="`next` of the page before.", pattern=CURSOR)] = None,
    limit: Limit = 50,
) -> Response:
    """Stories that several publishers tell: those of most sources first, then the latest."""
    wanted = utc(since) or utc_now() - timedelta(hours=settings.grouping_window_hours)
    with store.read() as tx:
        found = tx.groups.top(wanted, limit=limit + 1, after=group_place(after))
    cursor = group_cursor(found[limit - 1]) if len(found) > limit else None
    headers = {"Link": f'<?after={cursor}>; rel="next"'} if cursor else None
    return Json({"groups": [asdict(group) for group in found[:limit]], "next": cursor}, headers=headers)


@router.get(
    "/groups/{group_id}", response_class=Json, response_model=None, responses={200: {"model": GroupDetail}, **problems_of(404, 503)}
)
@router.head("/groups/{group_id}", include_in_schema=False)
def group(store: StoreAccess, group_id: str) -> Response:
    """One story with its articles, the newest first."""
    wanted = clean(group_id) or ""
    with store.read() as tx:
        found = tx.groups.many([wanted]).get(wanted)
        articles = tx.reading.articles(Wanted(group_id=wanted), limit=MOST_ARTICLES) if found else []
        told = shown(tx, articles)
    if found is None:
        raise HTTPException(404, f"there is no group {group_id[:300]!r}; it may have become one with another")
    return Json({"group": asdict(found), "articles": told})


def group_cursor(last: Group) -> str:
    return f"{last.sources}~{cursor_at(last.last_at, last.group_id)}"


def group_place(cursor: str | None) -> tuple[int, datetime, str] | None:
    """Where a page ended: how many sources, when, and which group."""
    if cursor is None:
        return None
    sources, _, rest = cursor.partition("~")
    ended = place(rest)
    return (int(sources), *ended) if ended else None
