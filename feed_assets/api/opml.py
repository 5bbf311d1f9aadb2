"""`/opml`: the list of feeds, for other readers."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from feed_assets.api.access import StoreAccess
from feed_assets.api.problems import problems_of
from feed_assets.feeds_files import to_opml

router = APIRouter(tags=["feeds"])
_XML = {"text/x-opml": {"schema": {"type": "string"}}}


@router.get("/opml", response_class=Response, responses={200: {"description": "OPML 2.0", "content": _XML}, **problems_of(503)})
@router.head("/opml", include_in_schema=False)
def opml(store: StoreAccess) -> Response:
    """All feeds as OPML 2.0, groups as outlines."""
    with store.read() as tx:
        feeds = tx.feeds.listed()
    headers = {"Content-Disposition": 'inline; filename="feed_assets.opml"'}
    return Response(to_opml(feeds, private=False), media_type="text/x-opml; charset=utf-8", headers=headers)
