"""Settings: names that are none, values that cannot be used, values that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning
from feed_assets.settings import PREFIX, Settings

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SHORTEST_LEASE = 60  # a run needs some seconds from its claim to its first sign of life


def check_values(case: Case) -> Iterator[Finding]:
    for variable, reason in case.trouble.items():
        remedy = f"correct or remove {variable}; docs/reference/settings.md has all names and values"
        yield problem("settings", reason if variable in reason else f"{variable}: {reason}", remedy)
    if not case.trouble:
        yield ok("settings", f"{len(case.sources)} set, the rest are defaults; `feed-assets config` shows them")


def check_together(case: Case) -> Iterator[Finding]:
    """What is right by itself and odd with the rest."""
    odd = [*_timing(case.settings), *_amounts(case.settings), *_exposure(case.settings), *_manners(case)]
    yield from odd or [ok("settings together", "they go together")]


def _timing(settings: Settings) -> Iterator[Finding]:
    name = "settings together"
    if settings.lease_seconds < max(settings.job_timeout_seconds, _SHORTEST_LEASE):
        longest = max(round(settings.job_timeout_seconds * 2), 600)
        yield warning(
            name,
            f"LEASE_SECONDS ({settings.lease_seconds}) is shorter than one feed may take (JOB_TIMEOUT_SECONDS is "
            f"{settings.job_timeout_seconds:g}) or a run needs to start: feeds may be taken from those who work on them",
            f"set {PREFIX}LEASE_SECONDS={longest}",
        )
    if settings.request_timeout_seconds > settings.job_timeout_seconds:
        yield warning(
            name,
            f"REQUEST_TIMEOUT_SECONDS ({settings.request_timeout_seconds:g}) is longer than JOB_TIMEOUT_SECONDS "
            f"({settings.job_timeout_seconds:g}) and has no effect",
            f"set {PREFIX}JOB_TIMEOUT_SECONDS={settings.request_timeout_seconds * 1.5:g}",
        )
    if settings.health_sensor_seconds < 3 * settings.sensor_interval_seconds:
        yield warning(
            name,
            f"HEALTH_SENSOR_SECONDS ({settings.health_sensor_seconds}) is less than three times SENSOR_INTERVAL_SECONDS "
            f"({settings.sensor_interval_seconds}): /health fails though nothing is wrong",
            f"set {PREFIX}HEALTH_SENSOR_SECONDS={4 * settings.sensor_interval_seconds}",
        )
    if settings.backoff_max_minutes < settings.min_interval_minutes:
        yield warning(
            name,
            f"BACKOFF_MAX_MINUTES ({settings.backoff_max_minutes:g}) is less than MIN_INTERVAL_MINUTES "
            f"({settings.min_interval_minutes:g}): feeds that fail are asked more often than others",
            f"set {PREFIX}BACKOFF_MAX_MINUTES={max(60, 2 * settings.min_interval_minutes):g}",
        )


def _amounts(settings: Settings) -> Iterator[Finding]:
    if 1 < settings.batch_size < settings.fetch_workers:
        yield warning(
            "settings together",
            f"FETCH_WORKERS ({settings.fetch_workers}) is more than BATCH_SIZE ({settings.batch_size}): threads have nothing to do",
            f"set {PREFIX}BATCH_SIZE={10 * settings.fetch_workers}, or {PREFIX}FETCH_WORKERS={settings.batch_size}",
        )


def _exposure(settings: Settings) -> Iterator[Finding]:
    if settings.api_host in _LOOPBACK:
        return
    if not settings.api_rate_limit:
        yield warning(
            "settings together",
            f"the HTTP API listens on {settings.api_host}, where others reach it, and answers any number of requests",
            f"set {PREFIX}API_RATE_LIMIT=600 (per minute and client), or {PREFIX}API_HOST=127.0.0.1 behind a proxy",
        )
    if settings.api_token and not settings.site_url.startswith("https://"):
        yield warning(
            "settings together",
            f"API_TOKEN travels unencrypted: the HTTP API listens on {settings.api_host} and PUBLIC_URL names no https://",
            f"put a proxy with TLS in front and set {PREFIX}PUBLIC_URL=https://...",
        )


def _manners(case: Case) -> Iterator[Finding]:
    """What a demo may do, and nobody else should."""
    if case.sources.get("domain_delay_seconds", "running demo") != "running demo" and case.settings.domain_delay_seconds < 1:
        yield warning(
            "manners",
            f"DOMAIN_DELAY_SECONDS is {case.settings.domain_delay_seconds:g} (from {case.sources['domain_delay_seconds']}): "
            "publishers will see that as an attack",
            f"remove {PREFIX}DOMAIN_DELAY_SECONDS; the default is {Settings.model_fields['domain_delay_seconds'].default} seconds",
        )
    if case.settings.allow_private_networks and case.settings.api_host not in _LOOPBACK:
        yield warning(
            "manners",
            "ALLOW_PRIVATE_NETWORKS is on while others reach the HTTP API: what a feed says of your own network is there for all to read",
            f"remove {PREFIX}ALLOW_PRIVATE_NETWORKS, or set {PREFIX}API_HOST=127.0.0.1",
        )
