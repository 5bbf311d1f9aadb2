"""`/stories`: what several publishers tell, for people. Rendered here, like the other pages."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from feed_assets.api.access import StoreAccess
from feed_assets.api.articles import clean
from feed_assets.api.groups import CURSOR, MOST_ARTICLES, group_cursor, group_place
from feed_assets.api.pages import excerpt, page
from feed_assets.refresh import utc_now
from feed_assets.store import Wanted

router = APIRouter()
_PER_PAGE = 30
_ARTICLES = 5  # of each story
_SPANS = {24: "a day", 48: "two days", 168: "a week"}


@router.get("/stories")
@router.head("/stories", include_in_schema=False)
def stories(request: Request, store: StoreAccess, hours: str = "", after: str = "") -> Response:
    """The stories of these hours that most sources tell."""
    span = next((each for each in _SPANS if str(each) == hours), 48)
    now = utc_now()
    with store.read() as tx:
        began = group_place(after if re.fullmatch(CURSOR, after) else None)
        found = tx.groups.top(now - timedelta(hours=span), limit=_PER_PAGE + 1, after=began)
        articles = tx.groups.articles([each.group_id for each in found[:_PER_PAGE]], each=_ARTICLES)
    more = "/stories?" + urlencode({"hours": span, "after": group_cursor(found[_PER_PAGE - 1])}) if len(found) > _PER_PAGE else None
    shown = [(each, articles.get(each.group_id, [])) for each in found[:_PER_PAGE]]
    return page(request, "stories.html", title="Stories", stories=shown, spans=_SPANS, span=span, first=not began, more=more, now=now)


@router.get("/stories/{group_id}")
@router.head("/stories/{group_id}", include_in_schema=False)
def story(request: Request, store: StoreAccess, group_id: str) -> Response:
    """One story as each publisher tells it."""
    wanted = clean(group_id) or ""
    with store.read() as tx:
        found = tx.groups.many([wanted]).get(wanted)
        articles = tx.reading.articles(Wanted(group_id=wanted), limit=MOST_ARTICLES) if found else []
    if found is None:
        raise HTTPException(404, f"there is no story {group_id[:300]!r}; it may have become one with another")
    told = [article | {"excerpt": excerpt(article["content"])} for article in articles[:100]]
    return page(request, "story.html", title=found.headline or "Untitled", story=found, articles=told, now=utc_now())
