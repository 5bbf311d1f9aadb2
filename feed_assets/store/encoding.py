"""How values that SQL has no type for are written: JSON texts and compressed bodies."""

from __future__ import annotations

import json
import zlib
from typing import Any


def encode_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def compress(body: bytes) -> bytes:
    return zlib.compress(body, 6)


def decompress(body: bytes) -> bytes:
    return zlib.decompress(body)
