"""Pages for people: all feeds, and one feed. Rendered here; they read well without a script, on a phone, in the dark, and aloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, HTTPException, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from feed_assets import __version__
from feed_assets.api import charts
from feed_assets.api.access import StoreAccess
from feed_assets.api.feeds import shown
from feed_assets.model import FeedState
from feed_assets.parse import plain_text
from feed_assets.refresh import utc_now
from feed_assets.store import Wanted
from feed_assets.words import in_words, relative

router = APIRouter()
_PER_PAGE = 100
_ARTICLES, _ATTEMPTS = 20, 60
_LONG_AGO, _FAR_AWAY = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
Row = Mapping[str, Any]
# Column -> its name, what it is sorted by, and whether the largest comes first.
_SORTS: dict[str, tuple[str, Callable[[Row], Any], bool]] = {
    "name": ("Name", lambda row: row["source_name"].casefold(), False),
    "state": ("State", lambda row: list(FeedState).index(row["state"]), True),
    "last": ("Last fetch", lambda row: row["last_fetched_at"] or _LONG_AGO, True),
    "next": ("Next fetch", lambda row: row["next_run_at"] or _FAR_AWAY, False),
    "pace": ("Pace", lambda row: row["articles_per_hour"] or 0.0, True),
}
_TROUBLE = (FeedState.FAILING, FeedState.DEAD)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "relative": relative,
        "exact": lambda moment: f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "",
        "iso": lambda moment: moment.isoformat().replace("+00:00", "Z") if moment else "",
        "part": lambda text: quote(text, safe=""),
        "in_words": in_words,
        "commands": _commands,
        "sparkline": charts.sparkline,
        "hours": charts.hours,
        "attempts": charts.attempts,
    }
    return made


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    settings, watcher = request.app.state.settings, request.app.state.watcher
    stale = round(watcher.age) if watcher.is_ready and watcher.is_stale else None
    text = (
        _environment().get_template(template).render(version=__version__, dagster=settings.dagster_url.rstrip("/"), stale=stale, **values)
    )
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-cache"})


@router.get("/")
@router.head("/", include_in_schema=False)
def feeds(
    request: Request, store: StoreAccess, q: str = "", state: str = "", sort: str = "", reverse: str = "", number: int = 1
) -> Response:
    """All feeds, or those that were searched for."""
    with store.read() as tx:
        rows = [shown(row) for row in tx.feeds.overview()]
    counts = {each: sum(row["state"] == each for row in rows) for each in FeedState}
    wanted = [row for row in rows if _matches(row, q, state)]
    key = sort if sort in _SORTS else "name"
    _, of, downwards = _SORTS[key]
    wanted.sort(key=lambda row: (of(row), row["feed_id"]), reverse=downwards != bool(reverse))
    pages = max((len(wanted) + _PER_PAGE - 1) // _PER_PAGE, 1)
    number = min(max(number, 1), pages)
    asked = {"q": q, "state": state, "sort": sort, "reverse": reverse}
    return page(
        request,
        "feeds.html",
        title="Feeds",
        rows=wanted[(number - 1) * _PER_PAGE : number * _PER_PAGE],
        found=len(wanted),
        total=len(rows),
        counts={each.value: count for each, count in counts.items() if count},
        trouble=sum(counts[each] for each in _TROUBLE),
        columns=[(name, words, _sort_link(asked, name, key)) for name, (words, _, _) in _SORTS.items()],
        sorted_by=key,
        upwards=downwards == bool(reverse),
        asked=asked,
        state_link=lambda each: _link(asked | {"state": each}),
        page_link=lambda each: _link(asked | {"number": str(each)}),
        number=number,
        pages=pages,
        now=utc_now(),
    )


@router.get("/feeds/{feed_id}")
@router.head("/feeds/{feed_id}", include_in_schema=False)
def feed(request: Request, store: StoreAccess, feed_id: str) -> Response:
    """One feed: its state in words, its rhythm, its latest articles and fetches."""
    with store.read() as tx:
        row = next(iter(tx.feeds.overview(feed_id)), None) if "\x00" not in feed_id else None
        if row is None:
            raise HTTPException(404, f"there is no feed {feed_id!r}")
        articles = tx.reading.articles(Wanted(feed_id=feed_id), limit=_ARTICLES)
        history = tx.items.history(feed_id, rows=_ATTEMPTS)
        facts = tx.items.facts(feed_id)
    return page(
        request,
        "feed.html",
        title=row["source_name"],
        row=shown(row),
        articles=[article | {"excerpt": excerpt(article["content"])} for article in articles],
        history=history,
        facts=facts,
        now=utc_now(),
    )


@router.get("/favicon.ico")
def favicon() -> Response:
    """There is none; browsers that show JSON or XML ask all the same."""
    return Response(status_code=204, headers={"Cache-Control": "public, max-age=604800"})


def _matches(row: Row, q: str, state: str) -> bool:
    if state == "trouble" and row["state"] not in _TROUBLE:
        return False
    if state and state != "trouble" and row["state"] != state:
        return False
    text = f"{row['source_name']} {row['feed_id']} {row['url']} {row['feed_group'] or ''} {row['last_error'] or ''}".casefold()
    return all(word in text for word in q.casefold().split())


def _sort_link(asked: Mapping[str, str], name: str, current: str) -> str:
    reverse = "" if name != current or asked["reverse"] else "1"
    return _link({**asked, "sort": name, "reverse": reverse})


def _link(asked: Mapping[str, str]) -> str:
    return "/?" + urlencode([(name, value) for name, value in asked.items() if value])


def _commands(text: str) -> Markup:
    """With what stands in backticks as code."""
    pieces = [escape(piece) for piece in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(piece) if place % 2 else piece for place, piece in enumerate(pieces))


def excerpt(content: str, length: int = 200) -> str:
    text = plain_text(content[:2000])
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"
