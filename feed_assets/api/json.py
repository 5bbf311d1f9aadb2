"""JSON answers: times in ISO 8601, no surprises."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from starlette.responses import JSONResponse


class Json(JSONResponse):
    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_encoded).encode("utf-8", "replace")


def _encoded(value: Any) -> str:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
