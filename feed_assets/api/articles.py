"""`/api/articles`, `/api/item`, `/api/site`: stories, newest first, by feed, by word, by address, by site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BeforeValidator
from starlette.responses import Response

from feed_assets.api.access import ShelfAccess, StoreAccess
from feed_assets.api.json import Json
from feed_assets.api.problems import problems_of
from feed_assets.api.schema import AnalysisOut, Article, Articles, Item, Site
from feed_assets.decide.canonical import canonical_url
from feed_assets.decide.fairness import interleaved
from feed_assets.model import Analysis
from feed_assets.store import Transaction, Wanted

router = APIRouter(prefix="/api", tags=["articles"])


def _written_out(value: Any) -> Any:
    """A number could be seconds or a year; nobody should have to guess which."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        raise ValueError("write the time out, such as 2026-03-02T12:00:00Z")
    return value


Moment = Annotated[datetime | None, BeforeValidator(_written_out)]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
_NUMBER = re.compile(r"[+-]?[\d._]+")
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = "^-?[0-9]{1,17}~[0-9A-Za-z]{1,64}$"
_PUBLIC = tuple(name for name in Article.model_fields if name != "analysis")
MaxScore = Annotated[
    float | None,
    Query(description="Without articles that an analysis gave a higher score; those without one stay.", allow_inf_nan=False),
]


@router.get("/articles", response_class=Json, response_model=None, responses={200: {"model": Articles}, **problems_of(400, 503)})
@router.head("/articles", include_in_schema=False)
def articles(
    store: StoreAccess,
    since: Annotated[Moment, Query(description="Published then or later (ISO 8601; UTC without a zone).")] = None,
    fetched_since: Annotated[Moment, Query(description="First seen then or later: for programs that take what is new.")] = None,
    feed: Annotated[str | None, Query(description="Carried by this feed.", max_length=1000)] = None,
    source: Annotated[str | None, Query(description="Of the source with this name.", max_length=1000)] = None,
    group: Annotated[str | None, Query(description="In this group of articles about one story.", max_length=1000)] = None,
    q: Annotated[str | None, Query(description="Words in the headline, four at most; any case.", max_length=200)] = None,
    max_score: MaxScore = None,
    after: Annotated[str | None, Query(description="`next` of the page before.", pattern=_CURSOR)] = None,
    limit: Limit = 50,
) -> Response:
    """Articles, the newest first. Pages do not shift when articles are added: follow `next`."""
    wanted = Wanted(
        feed_id=clean(feed),
        source=clean(source),
        group_id=clean(group),
        since=utc(since),
        fetched_since=utc(fetched_since),
        words=(clean(q) or "").split(),
        max_score=max_score,
    )
    with store.read() as tx:
        rows = tx.reading.articles(wanted, limit=limit + 1, after=place(after))
        more, page = rows[limit:], rows[:limit]
        shown_rows = shown(tx, page)
    cursor = cursor_at(page[-1]["moment_at"], page[-1]["article_id"]) if more else None
    headers = {"Link": f'<?after={cursor}>; rel="next"'} if cursor else None
    return Json({"articles": shown_rows, "next": cursor}, headers=headers)


@router.get("/item", response_class=Json, response_model=None, responses={200: {"model": Item}, **problems_of(400, 404, 503)})
@router.head("/item", include_in_schema=False)
def item(
    store: StoreAccess,
    url: Annotated[str, Query(description="The article's URL, as any feed spells it.", min_length=1)],
    max_score: Annotated[
        float | None,
        Query(description="404 when its analysis gave it a higher score; without an analysis there is none.", allow_inf_nan=False),
    ] = None,
) -> Response:
    """The article at a URL, with every feed that carried it, and its latest analysis."""
    with store.read() as tx:
        row = tx.reading.article_at(canonical_url(clean(url)))
        if row is None:
            raise HTTPException(404, f"there is no article at {url[:500]!r}")
        (article,) = shown(tx, [row])
        sources = _sources(tx, row["article_id"])
    score = article["analysis"] and article["analysis"]["score"]
    if max_score is not None and score is not None and score > max_score:
        raise HTTPException(404, f"the article at {url[:500]!r} has a score of {score:g}, more than {max_score:g}")
    return Json(article | {"sources": sources})


@router.get("/site", response_class=Json, response_model=None, responses={200: {"model": Site}, **problems_of(400, 404, 503)})
@router.head("/site", include_in_schema=False)
def site(
    store: StoreAccess,
    shelf: ShelfAccess,
    root: Annotated[str, Query(description="The root domain, such as example.com.", min_length=1, max_length=300)],
    limit: Limit = 50,
) -> Response:
    """The latest articles of all feeds of a site: each URL once, the feeds in turns, so that none drowns out the others."""
    feed_ids = sorted(address.feed_id for address in shelf.addresses() if address.root_domain == root.strip().lower() and address.enabled)
    if not feed_ids:
        raise HTTPException(404, f"there is no feed of {root[:300]!r}; `feed-assets root-domain list` shows the sites there are")
    with store.read() as tx:
        lists = [tx.reading.articles(Wanted(feed_id=feed_id), limit=limit) for feed_id in feed_ids]
        picked = interleaved(lists, limit, key=lambda row: row["canonical_url"] or row["article_id"])
        articles = shown(tx, picked)
    return Json({"root": root.strip().lower(), "feeds": feed_ids, "articles": articles})


def shown(tx: Transaction, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The public columns, and the latest analysis of each article."""
    found = tx.analyses.of(row["article_id"] for row in rows)
    return [{name: row[name] for name in _PUBLIC} | {"analysis": _analysis(found.get(row["article_id"]))} for row in rows]


def _analysis(found: Analysis | None) -> dict[str, Any] | None:
    return {name: getattr(found, name) for name in AnalysisOut.model_fields} if found else None


def _sources(tx: Transaction, article_id: str) -> list[dict[str, Any]]:
    found = []
    for row in tx.reading.carriers([article_id]).get(article_id, ()):
        extra = row.pop("extra") or {}
        enclosures = [each for each in extra.get("enclosures") or () if str(each.get("url", "")).startswith(("http://", "https://"))]
        url = row["url"] if str(row["url"]).startswith(("http://", "https://")) else None
        found.append(row | {"url": url, "categories": list(extra.get("categories") or ()), "enclosures": enclosures})
    return found


def cursor_at(moment: datetime, name: str) -> str:
    """Where a page ended, for the next one to go on there: microseconds since 1970, and what stood there."""
    return f"{(moment - _BEGINNING) // timedelta(microseconds=1)}~{name}"


def place(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    microseconds, _, name = cursor.partition("~")
    try:
        return _BEGINNING + timedelta(microseconds=int(microseconds)), name
    except OverflowError:  # beyond the first or the last day of any calendar
        return (datetime.max if int(microseconds) > 0 else datetime.min).replace(tzinfo=UTC), name


def utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise HTTPException(400, f"{moment.isoformat()} is beyond any calendar") from None


def clean(text: str | None) -> str | None:
    """Without what no database can look for."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode() if text is not None else None
