"""The application: endpoints and what they share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from feed_assets import __version__
from feed_assets.api import articles, combined, docs, feeds, groups, health, metrics, opml, pages, problems, refreshing, rss, stories
from feed_assets.api.guard import Guard
from feed_assets.api.shelf import Shelf
from feed_assets.api.watch import Watcher
from feed_assets.settings import Settings
from feed_assets.store import Store

_ABOUT = "Feeds and their articles as programs read them. Every answer is finished work: no request makes a writer wait."


def create_app(settings: Settings, store: Store) -> FastAPI:
    """`store` is read from, and written to only when somebody with the token asks for a refresh."""
    shelf = Shelf(settings.api_memory_mb)
    watcher = Watcher(store, shelf)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(watcher.catch_up)  # what can be served is there before the first request
        watcher.start()
        yield
        watcher.stop()

    app = FastAPI(title="feed_assets", version=__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.settings, app.state.store, app.state.shelf, app.state.watcher = settings, store, shelf, watcher
    app.add_middleware(Guard, settings=settings, shelf=shelf, watcher=watcher)
    problems.install(app)
    for part in (combined, rss, feeds, articles, groups, opml, health, metrics):
        app.include_router(part.router)
    if settings.api_token:
        app.include_router(refreshing.router)
    for part in (pages, stories, docs):
        app.include_router(part.router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    return app
