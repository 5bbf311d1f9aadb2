"""Log lines for people (`console`) or for programs (`json`), one setting for all processes."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from feed_assets.settings import Settings


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure_logging(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    console = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
    handler.setFormatter(_JsonLines() if settings.log_format == "json" else console)
    logging.basicConfig(level=settings.log_level, handlers=[handler], force=True)
