"""Errors as RFC 9457 problem JSON: the one place where an exception becomes a status."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from feed_assets.errors import FeedAssetsError


def install(app: FastAPI) -> None:
    @app.exception_handler(FeedAssetsError)
    def ours(request: Request, error: FeedAssetsError) -> JSONResponse:
        return problem(error.http_status, str(error))

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return problem(400, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}")


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")
