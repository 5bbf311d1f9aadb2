"""Errors as RFC 9457 problem JSON: the one place where an exception becomes a status."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from feed_assets.errors import FeedAssetsError

_OF_ANY_REQUEST = (413, 414, 429)
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


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document: with what the guard may answer to any request, and without the 422 that FastAPI believes in."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for operation in (each for ways in document["paths"].values() for each in ways.values()):
            operation["responses"].pop("422", None)
            for status, answer in problems_of(*_OF_ANY_REQUEST).items():
                operation["responses"].setdefault(str(status), {name: answer[name] for name in ("description", "content")})
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query" and not parameter["required"]:
                    parameter["allowEmptyValue"] = True  # as a form sends it: not given
            if operation.get("parameters"):
                bad = problems_of(400)[400]
                operation["responses"].setdefault("400", {name: bad[name] for name in ("description", "content")})
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        document["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        app.openapi_schema = document
    return app.openapi_schema


def install(app: FastAPI) -> None:
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]

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
