"""`/health`: 200 when all is well, 503 with the reason when it is not; `/health/live` and `/health/ready` for orchestrators."""

from __future__ import annotations

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
        "sensor": _sensor(signals.get("sensor"), now, settings),
        "leases": {
            "ok": queue.stuck < settings.health_max_stuck,
            "stuck": queue.stuck,
            "in_flight": queue.in_flight,
            "most_stuck": settings.health_max_stuck,
        },
        "queue": _lag(queue, "sensor" in signals, now, settings),
    }


def _sensor(signal: Signal | None, now: datetime, settings: Settings) -> dict[str, Any]:
    """The sensor's last tick tells that daemon, code location and sensor are alive. A database that never had one is not ill."""
    if signal is None:
        return {"ok": True, "reason": "no sensor has looked at this database yet"}
    age = (now - signal.noted_at).total_seconds()
    ok = age <= settings.health_sensor_seconds
    found = {"ok": ok, "age_seconds": _rounded(age), "most_seconds": settings.health_sensor_seconds}
    return found if ok else found | {"reason": "the sensor does not look for due feeds: is the Dagster daemon running, and the sensor on?"}


def _lag(queue: Queue, polled: bool, now: datetime, settings: Settings) -> dict[str, Any]:
    lag = (now - queue.oldest_due_at).total_seconds() if queue.oldest_due_at else 0.0
    ok = not polled or lag <= settings.health_max_lag_seconds
    found = {"ok": ok, "feeds": queue.feeds, "due": queue.due, "dead": queue.dead, "lag_seconds": _rounded(lag)}
    return found if ok else found | {"reason": "feeds have been due for too long: more batches or workers are needed"}


def _rounded(seconds: float) -> float | None:
    return round(seconds, 1) if seconds < float("inf") else None
