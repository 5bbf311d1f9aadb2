"""`/metrics`: Prometheus text, worked out from the tables, so that runs that live for seconds have nothing to push."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from starlette.responses import Response

from feed_assets import __version__
from feed_assets.api.access import SettingsAccess, StoreAccess, WatcherAccess
from feed_assets.api.problems import problems_of
from feed_assets.api.watch import Watcher
from feed_assets.model import Outcome
from feed_assets.overview import ages, lag, states
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import DURATIONS, Store, Totals

router = APIRouter(tags=["operations"])
_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_PREFIX = "feed_assets_"
# Signals that are numbers, and the metrics that show them.
MEASURED = {
    "dagster_event_log_bytes": ("event_log_bytes", "Size of Dagster's event log"),
    "dagster_runs": ("dagster_runs", "Runs that Dagster remembers"),
}


@router.get("/metrics", response_class=Response, responses={200: {"description": "Prometheus text", "content": _TEXT}, **problems_of(503)})
@router.head("/metrics", include_in_schema=False)
def metrics(store: StoreAccess, settings: SettingsAccess, watcher: WatcherAccess) -> Response:
    """Queue, feeds, fetches, articles and the health of the parts, for Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(list(collect(store, settings, watcher))))
    return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")


class _Collected:
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def collect(store: Store, settings: Settings, watcher: Watcher) -> Iterator[Metric]:
    now = utc_now()
    with store.read() as tx:
        queue, by_state, totals = tx.schedules.queue(now), states(tx), tx.numbers.totals()
        signals, stored = tx.numbers.signals(), tx.numbers.stored(now)
        busiest = tx.numbers.busiest(settings.metrics_feeds)
    yield InfoMetricFamily(_PREFIX + "build", "Version of feed_assets", {"version": __version__})
    yield _by("feeds", "Feeds by state", "state", {state.value: feeds for state, feeds in by_state.items()})
    yield _gauge("queue_due", "Feeds that are due and not taken", queue.due)
    yield _gauge("queue_age_seconds", "For how long the longest overdue feed has been due", lag(queue, now))
    yield _gauge("in_flight_feeds", "Feeds that are claimed", queue.in_flight)
    yield _gauge("in_flight_batches", "Batches that are claimed", queue.batches)
    yield _gauge("stuck_leases", "Leases that ran out and that nobody took over yet", queue.stuck)
    yield _gauge("dead_feeds", "Feeds that are paused after errors", queue.dead)
    yield _gauge("blocked_hosts", "Hosts that are left alone for now", stored["blocked_hosts"])
    yield _gauge("articles_stored", "Articles in the database", stored["articles"])
    yield from _fetches(totals)
    for name, (metric, words) in MEASURED.items():
        if (signal := signals.get(name)) and signal.value is not None:
            yield _gauge(metric, words, signal.value)
    yield _by("heartbeat_age_seconds", "Since a part of the system last did its work", "part", ages(signals, now))
    yield _gauge("read_model_age_seconds", "For how long this process knows nothing of the database", min(watcher.age, 1e9))
    rates = {row["feed_id"]: row["articles_per_hour"] for row in busiest}
    yield _by("feed_articles_per_hour", "Velocity of the busiest feeds (METRICS_FEEDS)", "feed_id", rates)
    intervals = {row["feed_id"]: row["interval_seconds"] for row in busiest if row["interval_seconds"]}
    yield _by("feed_interval_seconds", "Refresh interval of the busiest feeds (METRICS_FEEDS)", "feed_id", intervals)


def _fetches(totals: Totals) -> Iterator[Metric]:
    outcomes = CounterMetricFamily(_PREFIX + "fetches", "Fetches by outcome", labels=["outcome"])
    for outcome in Outcome:
        outcomes.add_metric([outcome.value], getattr(totals, outcome.value))
    yield outcomes
    buckets = [(str(bound / 1000), float(getattr(totals, column))) for bound, column in DURATIONS.items()]
    duration = HistogramMetricFamily(_PREFIX + "fetch_duration_seconds", "How long fetches took")
    duration.add_metric([], [*buckets, ("+Inf", float(totals.fetches))], sum_value=totals.total_ms / 1000)
    yield duration
    yield CounterMetricFamily(_PREFIX + "fetched_bytes", "Bytes received", totals.total_bytes)
    articles = CounterMetricFamily(_PREFIX + "articles", "Articles by what became of them", labels=["result"])
    for result in ("parsed", "inserted", "changed", "deduplicated"):
        articles.add_metric([result], getattr(totals, f"articles_{result}"))
    yield articles


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(_PREFIX + name, words, value)


def _by(name: str, words: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, words, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
