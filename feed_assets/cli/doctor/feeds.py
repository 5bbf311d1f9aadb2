"""What the tables tell: clocks that disagree, leases that ran out, feeds that died, signs of life that stay away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from feed_assets.cli.doctor.finding import Finding, ok, problem, warning
from feed_assets.model import FeedState
from feed_assets.overview import Overview, lag, lag_trouble, sensor_trouble
from feed_assets.settings import PREFIX, Settings, is_up
from feed_assets.words import how_long, relative

_CLOCKS_DIFFER = timedelta(seconds=60)  # and nothing is wrong; a check takes some seconds itself
_MANY_DEAD = 0.2
_SET_CLOCK = "set the clock of this machine: timedatectl set-ntp true"


def check_clock(moments: Mapping[str, Any], now: datetime) -> Finding:
    """Ours against the database server's, and against what was written last."""
    apart = now - moments["server_at"]
    if abs(apart) > _CLOCKS_DIFFER:
        sides = "ahead of" if apart > timedelta() else "behind"
        return problem(
            "clock",
            f"this machine's clock is {how_long(apart.total_seconds())} {sides} the database server's: leases end too early or too late",
            f"{_SET_CLOCK} (and that of the server)",
        )
    newest = max((moments[name] for name in ("fetched_at", "noted_at") if moments[name]), default=now)
    if newest - now > _CLOCKS_DIFFER:
        return problem(
            "clock", f"the newest entry in the database is from the future, {relative(newest, now)}: this clock is behind", _SET_CLOCK
        )
    return ok("clock", "it agrees with the database")


def check_feeds(found: Overview, settings: Settings) -> Iterator[Finding]:
    if not found.queue.feeds:
        yield warning("feeds", "there are none", "feed-assets feed add URL, or feed-assets feed import FILE")
        return
    yield _dead(found)
    yield _leases(found, settings)
    yield _sensor(found, settings)
    if reason := lag_trouble(found.queue, found.signals, found.at, settings):
        most = settings.max_batches_in_flight
        remedy = f"if the parts run: set {PREFIX}MAX_BATCHES_IN_FLIGHT={2 * most} or a larger {PREFIX}FETCH_WORKERS"
        yield problem("queue", f"{reason} (the oldest for {how_long(lag(found.queue, found.at))}, {found.queue.due} due)", remedy)
    else:
        yield ok("queue", f"{found.queue.due} due, {found.queue.in_flight} in flight, {len(found.stale)} stale")


def _dead(found: Overview) -> Finding:
    enabled = found.queue.feeds - found.states[FeedState.DISABLED]
    share = found.queue.dead / max(enabled, 1)
    kinds = ", ".join(f"{feeds} {kind}" for kind, feeds in list(found.errors.items())[:3])
    counts = f"{found.queue.dead} of {enabled} enabled feeds are dead"
    if share > _MANY_DEAD:
        remedy = "`feed-assets feed list --dead` says why; `feed-assets feed sync ID` revives one, `feed-assets feed delete ID` removes it"
        return warning("feeds", f"{counts} (errors: {kinds})", remedy)
    return ok("feeds", counts)


def _leases(found: Overview, settings: Settings) -> Finding:
    stuck = found.queue.stuck
    if not stuck:
        return ok("leases", f"none has run out; {found.queue.in_flight} feeds are held")
    remedy = "`feed-assets up` gives them back at its start, recovery_sensor within a minute; `feed-assets refresh --due` takes them over"
    judge = problem if stuck >= settings.health_max_stuck else warning
    return judge("leases", f"{stuck} leases have run out, and nobody has taken over: their workers were killed", remedy)


def _sensor(found: Overview, settings: Settings) -> Finding:
    signal = found.signals.get("sensor")
    if signal is None:
        return warning("sensor", "it has never looked at this database: nothing is fetched by itself", "feed-assets up")
    last = f"its last look was {relative(signal.noted_at, found.at)}"
    if sensor_trouble(found.signals, found.at, settings) is None:
        return ok("sensor", last)
    if is_up(settings.home):
        remedy = f"see what {settings.home / 'logs' / 'daemon.log'} says, and whether due_feeds_sensor is on in the Dagster UI"
        return problem("sensor", f"{last}, though `feed-assets up` runs", remedy)
    return problem("sensor", f"{last}: nothing is fetched by itself", "feed-assets up (or start dagster-daemon where you run it by hand)")
