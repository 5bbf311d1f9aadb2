"""When a server was asked and when its answer went out, for tests of turns and rests."""

from __future__ import annotations

import time
from itertools import pairwise

from feed_assets_tests.support.feed_server import FeedServer

Span = tuple[float, float]


def timed(server: FeedServer, *paths: str, spans: list[Span], seconds: float = 0.01) -> None:
    """Let the answers at these paths take a moment, and note when each request came and when its answer was about to go out."""

    def note() -> None:
        came = time.monotonic()
        time.sleep(seconds)
        spans.append((came, time.monotonic()))

    for path in paths:
        server.answers[path].then = note


def shortest_rest(spans: list[Span]) -> float:
    """The least time between the end of an answer and the next request; below zero when two were under way at once."""
    ordered = sorted(spans)
    return min(later[0] - earlier[1] for earlier, later in pairwise(ordered))
