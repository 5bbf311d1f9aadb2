"""The application: endpoints and what they share."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import RedirectResponse

from feed_assets import __version__
from feed_assets.api import feeds, health, problems, rss
from feed_assets.settings import Settings
from feed_assets.store import Store


def create_app(settings: Settings, store: Store) -> FastAPI:
    app = FastAPI(title="feed_assets", version=__version__, description="Feeds and their articles, read-only.")
    app.state.settings = settings
    app.state.store = store
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    problems.install(app)
    for part in (rss, feeds, health):
        app.include_router(part.router)

    @app.get("/", include_in_schema=False)
    def index() -> RedirectResponse:
        return RedirectResponse("/docs")

    return app
