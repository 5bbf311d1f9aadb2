"""`/health`: 200 when all is well, 503 with the reason when it is not; `/health/live` and `/health/ready` for orchestrators."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from feed_assets.api.access import SettingsAccess, StoreAccess, WatcherAccess
from feed_assets.api.json import Json
from feed_assets.api.problems import problems_of
from feed_assets.api.schema import Health
from feed_assets.api.watch import Watcher
from feed_assets.errors import StoreError
from feed_assets.overview import ages, lag, lag_trouble, sensor_trouble
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Queue, Signal, Store

router = APIRouter(tags=["operations"])


@router.get(
    "/health",
    response_class=Json,
    response_model=None,
    responses={200: {"model": Health}, 503: {"model": Health, "description": "Degraded; the checks say why"}},
)
@router.head("/health", include_in_schema=False)
def health(store: StoreAccess, settings: SettingsAccess, watcher: WatcherAccess) -> Response:
    """Whether the database answers, the sensor looks for due feeds, and nothing is stuck. Thresholds are settings (HEALTH_...)."""
    checks = health_checks(store, settings, watcher)
    healthy = all(check["ok"] for check in checks.values())
    body = {"status": "ok" if healthy else "degraded", "checks": checks}
    return Json(body, status_code=200 if healthy else 503, headers={"Cache-Control": "no-store"})


@router.get("/health/live", response_class=Json, response_model=None)
@router.head("/health/live", include_in_schema=False)
async def live() -> Response:
    """Whether this process answers."""
    return Json({"status": "ok"}, headers={"Cache-Control": "no-store"})


@router.get("/health/ready", response_class=Json, response_model=None, responses=problems_of(503))
@router.head("/health/ready", include_in_schema=False)
async def ready(watcher: WatcherAccess) -> Response:
    """Whether there is something to serve from, be it a little old."""
    if not watcher.is_ready:
        raise StoreError(watcher.trouble or "the first look at the database is not done yet")
    return Json({"status": "ok"}, headers={"Cache-Control": "no-store"})


def health_checks(store: Store, settings: Settings, watcher: Watcher) -> dict[str, dict[str, Any]]:
    """Each with `ok` and its values."""
    now = utc_now()
    watcher.catch_up()
    if watcher.trouble:
        return {"database": {"ok": False, "reason": watcher.trouble, "age_seconds": _rounded(watcher.age)}}
    try:
        with store.read() as tx:
            queue = tx.schedules.queue(now)
            signals = tx.numbers.signals()
    except StoreError as error:
        return {"database": {"ok": False, "reason": str(error)}}
    return {
        "database": {"ok": not watcher.is_stale, "age_seconds": _rounded(watcher.age)},
        "sensor": _sensor(signals, now, settings),
        "leases": {
            "ok": queue.stuck < settings.health_max_stuck,
            "stuck": queue.stuck,
            "in_flight": queue.in_flight,
            "most_stuck": settings.health_max_stuck,
        },
        "queue": _lag(queue, signals, now, settings),
    }


def _sensor(signals: Mapping[str, Signal], now: datetime, settings: Settings) -> dict[str, Any]:
    if "sensor" not in signals:
        return {"ok": True, "reason": "no sensor has looked at this database yet"}
    reason = sensor_trouble(signals, now, settings)
    age = _rounded(ages(signals, now)["sensor"])
    return _verdict(reason, {"age_seconds": age, "most_seconds": settings.health_sensor_seconds})


def _lag(queue: Queue, signals: Mapping[str, Signal], now: datetime, settings: Settings) -> dict[str, Any]:
    reason = lag_trouble(queue, signals, now, settings)
    return _verdict(reason, {"feeds": queue.feeds, "due": queue.due, "dead": queue.dead, "lag_seconds": _rounded(lag(queue, now))})


def _verdict(reason: str | None, found: dict[str, Any]) -> dict[str, Any]:
    return {"ok": reason is None} | found | ({"reason": reason} if reason else {})


def _rounded(seconds: float) -> float | None:
    return round(seconds, 1) if seconds < float("inf") else None
