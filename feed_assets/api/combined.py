"""`/rss/all`, `/rss/site/...`, `/rss/group/...`: one document of many feeds, the feeds in turns and then by date.

Made when asked for, and kept until one of them publishes something.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from fastapi import APIRouter, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from feed_assets.api.problems import problems_of
from feed_assets.api.rss import ANSWERS, answer
from feed_assets.api.shelf import Document, Shelf
from feed_assets.decide.fairness import interleaved
from feed_assets.model import PublishedItem
from feed_assets.publish import render_rss
from feed_assets.settings import Settings
from feed_assets.store import Address, Store

router = APIRouter(tags=["documents"])
_MAX_AGE = 60
_MOST_KEPT = 200
_MOST_FEEDS = 200  # of more, those that published last


@router.get("/rss/all", response_class=Response, responses=ANSWERS)
@router.head("/rss/all", include_in_schema=False)
async def all_feeds(request: Request) -> Response:
    """The latest articles of all feeds."""
    return await _serve(request, "all", "All feeds", lambda address: True)


@router.get("/rss/site/{root_domain}", response_class=Response, responses=ANSWERS)
@router.head("/rss/site/{root_domain}", include_in_schema=False)
async def site(request: Request, root_domain: str) -> Response:
    """The latest articles of all feeds of a site."""
    return await _serve(request, f"site/{root_domain}", root_domain, lambda address: address.root_domain == root_domain.lower())


@router.get("/rss/group/{group:path}", response_class=Response, responses=ANSWERS | problems_of(404))
@router.head("/rss/group/{group:path}", include_in_schema=False)
async def group(request: Request, group: str) -> Response:
    """The latest articles of a group of feeds."""
    return await _serve(request, f"group/{group}", group, lambda address: address.feed_group == group)


class Kept:
    """Combined documents, each with the edition of the shelf that it was made from."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, tuple[int, Document]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, edition: int) -> Document | None:
        with self._lock:
            made = self._documents.get(name)
            return made[1] if made and made[0] == edition else None

    def put(self, name: str, edition: int, document: Document) -> Document:
        """A document that says the same as before stays the one that it was."""
        with self._lock:
            before = self._documents.pop(name, None)
            kept = before[1] if before and before[1].etag == document.etag else document
            self._documents[name] = edition, kept
            if len(self._documents) > _MOST_KEPT:
                self._documents.popitem(last=False)
            return kept


async def _serve(request: Request, name: str, title: str, belongs: Callable[[Address], bool]) -> Response:
    state = request.app.state
    if not hasattr(state, "combined"):
        state.combined = Kept()
    kept: Kept = state.combined
    edition = state.shelf.edition
    document = kept.get(name, edition)
    if document is None:
        document = await run_in_threadpool(_make, state.store, state.shelf, state.settings, name, title, belongs)
        document = kept.put(name, edition, document)
    return answer(request, document, _MAX_AGE)


def _make(store: Store, shelf: Shelf, settings: Settings, name: str, title: str, belongs: Callable[[Address], bool]) -> Document:
    addresses = [address for address in shelf.addresses() if address.enabled and belongs(address)]
    if not addresses and name != "all":
        raise HTTPException(404, f"there is no feed of {title!r}")
    feed_ids = sorted(address.feed_id for address in addresses)
    with store.read() as tx:
        editions = tx.articles.editions(feed_ids)
        latest = sorted(editions, key=lambda feed_id: editions[feed_id].updated_at, reverse=True)[:_MOST_FEEDS]
        items = tx.articles.latest(latest, items=settings.feed_xml_items, analyses=settings.analysis_in_xml)
    picked = interleaved([items.get(feed_id, []) for feed_id in latest], settings.feed_xml_items, key=lambda item: item.article_id)
    updated_at = max((edition.updated_at for edition in editions.values()), default=datetime(1970, 1, 1, tzinfo=UTC))
    rendered = render_rss(
        title=title,
        link=settings.site_url,
        description=f"The latest articles of {len(addresses)} feeds",
        language=None,
        self_url=f"{settings.site_url}/rss/{name}",
        built_at=updated_at,
        items=sorted(picked, key=_moment, reverse=True),
    )
    return Document(rendered.xml, rendered.etag, updated_at)


def _moment(item: PublishedItem) -> tuple[datetime, str]:
    return item.published_at, item.article_id
