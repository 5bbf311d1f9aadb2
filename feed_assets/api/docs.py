"""`/docs`: the endpoints, made from the OpenAPI document, each with a form to try it. No script, and nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from feed_assets.api.pages import page

router = APIRouter()
_OF_ANY_REQUEST = ("413", "414", "429")


@router.get("/docs")
@router.head("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    document = request.app.openapi()
    parts: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.setdefault(operation["tags"][0], []).append(_endpoint(path, method, operation))
    return page(request, "docs.html", title="HTTP API", parts=parts, about=document["info"]["description"])


def _endpoint(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    return {
        "path": path,
        "method": method.upper(),
        "summary": operation.get("description") or operation.get("summary", ""),
        "parameters": [
            {
                "name": parameter["name"],
                "required": parameter.get("required", False),
                "description": parameter.get("description") or parameter["schema"].get("description", ""),
                "in_path": parameter["in"] == "path",
                "default": parameter["schema"].get("default"),
            }
            for parameter in operation.get("parameters", ())
        ],
        "answers": {status: answer["description"] for status, answer in operation["responses"].items() if status not in _OF_ANY_REQUEST},
    }
