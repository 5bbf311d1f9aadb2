"""Errors as RFC 9457 problem JSON: the one place where an exception becomes a status."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from feed_assets.errors import FeedAssetsError

_FOR_PROGRAMS = ("/api/", "/rss", "/health", "/metrics", "/opml", "/static/")
_log = logging.getLogger(__name__)


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    type: str = Field("about:blank", description="Always about:blank: the status says the kind.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="The reason in one line.")


def problems_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For an endpoint's list of answers."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def install(app: FastAPI) -> None:
    @app.exception_handler(FeedAssetsError)
    def ours(request: Request, error: FeedAssetsError) -> JSONResponse:
        return problem(error.http_status, str(error), {"Retry-After": "5"} if error.http_status == 503 else None)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404 and "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(_FOR_PROGRAMS):
            from feed_assets.api.pages import page

            return page(request, "missing.html", status=404, title="Not here", reason=str(error.detail))
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return problem(400, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "an error in feed_assets; its log has the details")


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")
