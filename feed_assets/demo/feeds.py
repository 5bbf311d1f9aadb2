"""Which demo feeds there are: their format, their tempo, and what is wrong with some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW = 20


@dataclass(frozen=True, slots=True)
class DemoFeed:
    """A feed that publishes `burst` stories every `every`; `fault` is what it does instead of answering well."""

    name: str
    title: str
    format: str = "rss"
    every: timedelta = timedelta(minutes=5)
    burst: int = 1
    fault: str | None = None
    wire: str | None = None  # feeds on one wire carry the same stories

    def stories(self, now: datetime) -> Iterator[tuple[int, datetime]]:
        """(number, published at) of the latest stories, newest first."""
        newest = int((now - EPOCH) / self.every)
        for count in range(WINDOW):
            number = newest * self.burst + self.burst - 1 - count
            yield number, EPOCH + self.every * (number // self.burst)


def _minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


DEMO_FEEDS = (
    DemoFeed("ticker", "City Ticker", every=_minutes(0.5)),
    DemoFeed("harbour", "Harbour Radio", "atom", every=_minutes(1)),
    DemoFeed("agora", "Agora Daily", "json", every=_minutes(2)),
    DemoFeed("museum", "Museum Notes", "rdf", every=_minutes(60)),
    DemoFeed("weather", "Weather Desk", every=_minutes(1)),
    DemoFeed("sports", "Sports Flash", "atom", every=_minutes(3), burst=4),
    DemoFeed("markets", "Market Minutes", "json", every=_minutes(0.5)),
    DemoFeed("gardens", "Garden Letters", every=_minutes(24 * 60)),
    DemoFeed("rivers", "River Watch", "rdf", every=_minutes(10)),
    DemoFeed("wire-north", "Northern Wire", every=_minutes(2), wire="wire"),
    DemoFeed("wire-south", "Southern Wire", "atom", every=_minutes(2), wire="wire"),
    DemoFeed("theatre", "Stage Door", "json", every=_minutes(6 * 60)),
    DemoFeed("science", "Science Bench", "atom", every=_minutes(15), burst=3),
    DemoFeed("kitchen", "Open Kitchen", every=_minutes(30)),
    DemoFeed("bikes", "Spokes & Gears", "atom", every=_minutes(20)),
    DemoFeed("books", "Book Lantern", every=_minutes(7 * 24 * 60)),
    DemoFeed("trains", "Rail Lines", "rdf", every=_minutes(5)),
    DemoFeed("chess", "Chess Corner", "json", every=_minutes(45)),
    DemoFeed("islands", "Island Post", "atom", every=_minutes(4), burst=6),
    DemoFeed("observatory", "Night Observatory", every=_minutes(12 * 60), burst=5),
    DemoFeed("gone-temporarily", "Moved For Now", every=_minutes(5), fault="302"),
    DemoFeed("gone-for-good", "Moved For Good", "atom", every=_minutes(5), fault="301"),
    DemoFeed("flaky", "Flaky Gazette", every=_minutes(2), fault="flaky"),
    DemoFeed("missing", "Missing Pages", fault="404"),
    DemoFeed("retired", "Retired Review", fault="410"),
    DemoFeed("members", "Members Only", fault="401"),
    DemoFeed("busy", "Busy Bulletin", fault="429"),
    DemoFeed("broken", "Broken Press", fault="500"),
    DemoFeed("sleepy", "Sleepy Sentinel", fault="timeout"),
    DemoFeed("garbled", "Garbled Gazette", fault="broken-xml"),
    DemoFeed("homepage", "Just a Homepage", fault="html"),
)
