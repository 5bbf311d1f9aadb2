"""`/health`: 200 when all is well, 503 with the reason when it is not."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from feed_assets.api.access import StoreAccess
from feed_assets.errors import StoreError
from feed_assets.refresh import utc_now

router = APIRouter(tags=["operations"])
_TOO_MANY_STUCK = 10


@router.get("/health", responses={503: {"description": "Degraded; the body says why"}})
def health(store: StoreAccess) -> JSONResponse:
    """Whether the database answers and feeds are not stuck."""
    try:
        with store.read() as tx:
            queue = tx.schedules.queue(utc_now())
    except StoreError as error:
        return _answer({"database": {"ok": False, "reason": str(error)}})
    return _answer(
        {
            "database": {"ok": True},
            "leases": {"ok": queue.stuck < _TOO_MANY_STUCK, "stuck": queue.stuck, "in_flight": queue.in_flight},
            "queue": {"ok": True, "feeds": queue.feeds, "due": queue.due},
        }
    )


def _answer(checks: dict[str, dict[str, Any]]) -> JSONResponse:
    healthy = all(check["ok"] for check in checks.values())
    return JSONResponse({"status": "ok" if healthy else "degraded", "checks": checks}, status_code=200 if healthy else 503)
