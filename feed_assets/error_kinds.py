"""What kind of error a reason tells of: for counting them. Pure; the reasons are made by `fetch/outcome.py` and `parse/`."""

from __future__ import annotations

import re

OTHER = "other"
_STATUS = re.compile(r"HTTP (\d{3})\b")
_BY_STATUS = {
    "401": "not let in (401, 403)",
    "403": "not let in (401, 403)",
    "404": "gone (404, 410)",
    "410": "gone (404, 410)",
    "408": "timeout",
    "429": "asked too often (429)",
}
_BY_CLASS = {"3": "redirect", "4": "refused by the server (other 4xx)", "5": "server error (5xx)"}
# Words of a reason -> what it is counted as. The first that is found counts.
_BY_WORDS = (
    ("could not be resolved", "DNS"),
    ("timed out", "timeout"),
    ("not done within", "timeout"),
    ("connection refused", "connection refused"),
    ("TLS failed", "TLS"),
    ("redirect", "redirect"),
    ("not a public address", "not a public address"),
    ("is not a feed", "not a feed"),
    ("the document is empty", "not a feed"),
    ("broken XML", "damaged document"),
    ("broken JSON", "damaged document"),
    ("entities", "damaged document"),
    ("document cannot be read", "damaged document"),
    ("compress", "damaged document"),
    ("too large", "too large"),
    ("is larger than", "too large"),
    ("not a URL", "unusable URL"),
    ("broke off", "connection lost"),
    ("chunks are broken", "connection lost"),
    ("does not answer in HTTP", "not HTTP"),
    ("too many headers", "not HTTP"),
)


def error_kind(reason: str | None) -> str:
    """The kind of trouble that a `last_error` or an `error_message` tells of."""
    if not reason:
        return OTHER
    if status := _STATUS.match(reason):
        return _BY_STATUS.get(status[1]) or _BY_CLASS.get(status[1][0], OTHER)
    return next((kind for words, kind in _BY_WORDS if words in reason), OTHER)
