"""`POST /api/feeds/{id}/refresh`: the one thing that can be asked for, by those who have the token (API_TOKEN)."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.responses import Response

from feed_assets.api.access import SettingsAccess, StoreAccess
from feed_assets.api.json import Json
from feed_assets.api.problems import problems_of
from feed_assets.api.schema import Refresh
from feed_assets.catalog import sync_feed
from feed_assets.refresh import utc_now

router = APIRouter(prefix="/api", tags=["feeds"])
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, description="API_TOKEN"))]


@router.post(
    "/feeds/{feed_id}/refresh",
    status_code=202,
    response_class=Json,
    response_model=None,
    responses={202: {"model": Refresh, "description": "Due now"}, **problems_of(401, 404, 409, 503)},
)
def refresh(store: StoreAccess, settings: SettingsAccess, feed_id: str, bearer: Bearer) -> Response:
    """Make a feed due now, whatever it was waiting for; the next tick of the sensor takes it."""
    if bearer is None or not hmac.compare_digest(bearer.credentials.encode(), settings.api_token.encode()):
        raise HTTPException(401, "send `Authorization: Bearer` with API_TOKEN", {"WWW-Authenticate": "Bearer"})
    now = utc_now()
    sync_feed(store, feed_id, now=now)
    return Json({"feed_id": feed_id, "next_run_at": now}, status_code=202)
