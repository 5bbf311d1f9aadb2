"""`/rss`: the finished XML, with the manners that we ask of others: ETag, Last-Modified, max-age, 304.

Answered from the shelf, without a thread and without the database; only what does not fit there is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from feed_assets.api.access import ShelfAccess
from feed_assets.api.asgi import takes_gzip
from feed_assets.api.express import is_current, max_age_of
from feed_assets.api.problems import problems_of
from feed_assets.api.shelf import Document
from feed_assets.errors import StoreError
from feed_assets.store import Address

router = APIRouter(tags=["documents"])
XML = {"application/rss+xml": {"schema": {"type": "string"}}}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The document", "content": XML},
    304: {"description": "Not modified"},
    **problems_of(400, 404, 503),
}


@router.get("/rss", response_class=Response, responses=ANSWERS | problems_of(403))
@router.head("/rss", include_in_schema=False)
async def by_url(request: Request, shelf: ShelfAccess, url: Annotated[str, Query(description="The feed's URL.")]) -> Response:
    """The RSS document of the feed at this URL. Differences in percent-encoding and a last slash are forgiven."""
    return await _serve(request, shelf.find, url)


@router.get("/rss/{feed_id}", response_class=Response, responses=ANSWERS | problems_of(403))
@router.head("/rss/{feed_id}", include_in_schema=False)
async def by_id(request: Request, shelf: ShelfAccess, feed_id: Annotated[str, Path(description="The feed's id.")]) -> Response:
    """The RSS document of a feed."""
    return await _serve(request, shelf.address, feed_id)


async def _serve(request: Request, find: Callable[[str], Address | None], asked: str) -> Response:
    state = request.app.state
    if not state.watcher.is_ready:  # the very first request, or a database that was never there
        await run_in_threadpool(state.watcher.catch_up)
        state.watcher.start()
    address = find(asked)
    if address is None:
        if not state.watcher.is_ready:
            raise StoreError(state.watcher.trouble or "the first look at the database is not done yet")
        raise HTTPException(404, f"there is no feed {asked!r}")
    if not address.enabled:
        raise HTTPException(403, f"feed {address.feed_id!r} is disabled")
    document = state.shelf.get(address.feed_id)
    if document is None:
        if not state.shelf.is_published(address.feed_id):
            raise HTTPException(404, f"nothing of feed {address.feed_id!r} is published yet; it has not been fetched with success so far")
        document = await run_in_threadpool(_read, state, address.feed_id)
    return answer(request, document, max_age_of(address))


def _read(state: Any, feed_id: str) -> Document:
    with state.store.read() as tx:
        row = tx.reading.cached([feed_id])[0]
    document = Document(row.xml_content, row.etag, row.updated_at)
    state.shelf.put(feed_id, document)
    return document


def answer(request: Request, document: Document, max_age: int) -> Response:
    """The document, or that the client has it."""
    asked = request.headers
    packs = takes_gzip(asked.get("accept-encoding", "").encode("latin-1", "replace"))
    headers = {
        "etag": document.packed_etag if packs else document.etag,
        "last-modified": document.last_modified,
        "cache-control": f"public, max-age={max_age}",
        "vary": "Accept-Encoding",
    }
    watcher = request.app.state.watcher
    if watcher.is_stale:
        headers |= {"warning": '110 - "Response is Stale"', "age": str(round(watcher.age))}
    if is_current(document, asked.get("if-none-match"), asked.get("if-modified-since")):
        return Response(status_code=304, headers=headers)
    if packs:
        headers["content-encoding"] = "gzip"
    return Response(document.packed if packs else document.plain, media_type="application/rss+xml; charset=utf-8", headers=headers)
