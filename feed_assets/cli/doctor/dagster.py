"""Dagster: its home, its storage, its daemons, what somebody has switched off, and whether our code loads.

What only Dagster knows comes from `defs/checkup.py`, which is imported when it is needed: that takes three seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning
from feed_assets.errors import FeedAssetsError, StoreError
from feed_assets.settings import PREFIX, Settings, is_up
from feed_assets.store import connect
from feed_assets.words import relative

if TYPE_CHECKING:
    from feed_assets.defs.checkup import Checkup

_QUIET_DAEMON = timedelta(minutes=5)
_WITHOUT_POLLING = {
    "due_feeds_sensor": "no feed is fetched by itself",
    "recovery_sensor": "feeds of killed runs wait for their leases to end",
}


def check_dagster(case: Case) -> Iterator[Finding]:
    own = case.environ.get("DAGSTER_HOME")
    home = Path(own) if own else case.settings.home.absolute() / "dagster"
    if own and not home.is_dir():
        yield problem("Dagster's home", f"DAGSTER_HOME is {own}, which is not a folder", f"mkdir -p {own}, or unset DAGSTER_HOME")
    elif not (home / "dagster.yaml").is_file():
        yield _without_file(own, home)
    else:
        yield from _examine(case, home, bool(own))


def check_code(case: Case) -> Iterator[Finding]:
    """Whether the code location loads: what the daemon and the UI load."""
    if case.trouble:
        yield warning("code location", "not looked at: it cannot be loaded while settings are wrong", "correct the settings first")
        return
    try:
        from feed_assets.defs.checkup import validate

        validate()
    except Exception as error:  # what is wrong with the code or its surroundings may be anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        remedy = "dagster definitions validate -m feed_assets.definitions shows all of it; after an upgrade: make clean, then make up"
        yield problem("code location", f"it cannot be loaded: {reason}", remedy)
    else:
        yield ok("code location", "it loads")


def _without_file(own: str | None, home: Path) -> Finding:
    if own:
        found = f"DAGSTER_HOME is {own}, which has no dagster.yaml: Dagster runs with its defaults, without limits and monitoring of runs"
        return warning("Dagster's home", found, "unset DAGSTER_HOME, or copy dagster.yaml of feed_assets into that folder")
    return ok("Dagster's home", f"{home} is not there yet; it is made when it is needed")


def _examine(case: Case, home: Path, own: bool) -> Iterator[Finding]:
    remedy = f"correct {home / 'dagster.yaml'}" if own else f"rm {home / 'dagster.yaml'}: it is written anew at the next start"
    try:
        document = yaml.safe_load((home / "dagster.yaml").read_text("utf-8")) or {}
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        yield problem("Dagster's home", f"{home / 'dagster.yaml'} cannot be read: {' '.join(str(error).split())}", remedy)
        return
    if not isinstance(document, dict):
        yield problem("Dagster's home", f"{home / 'dagster.yaml'} has no settings in it", remedy)
        return
    where = f"{home} (from DAGSTER_HOME)" if own else str(home)
    yield from _runs_at_once(document, case.settings, where)
    unreachable = _unreachable(case.settings)
    if unreachable is not None:
        yield unreachable
        return
    from feed_assets.defs.checkup import examine

    try:
        found = examine(case.settings, home)
    except StoreError as error:
        yield problem("Dagster's storage", f"it cannot be used: {error}", f"{remedy}; if its database is damaged: move {home} away")
        return
    yield ok("Dagster's storage", "it answers")
    yield from _daemons(case, found)
    yield from _switched_off(found)


def _runs_at_once(document: dict[str, Any], settings: Settings, where: str) -> Iterator[Finding]:
    """More batches than runs: the rest are claimed and wait."""
    concurrency = document.get("concurrency")
    runs = concurrency.get("runs") if isinstance(concurrency, dict) else None
    most = runs.get("max_concurrent_runs") if isinstance(runs, dict) else None
    if isinstance(most, int) and 0 <= most < settings.max_batches_in_flight:
        found = f"MAX_BATCHES_IN_FLIGHT is {settings.max_batches_in_flight}, but Dagster runs only {most} at once: claimed feeds wait"
        remedy = f"set max_concurrent_runs in a dagster.yaml of your own, or {PREFIX}MAX_BATCHES_IN_FLIGHT={most}"
        yield warning("Dagster's home", found, remedy)
    else:
        yield ok("Dagster's home", where)


def _unreachable(settings: Settings) -> Finding | None:
    """Dagster would try for minutes to reach a server that is away; we ask once."""
    if not settings.dagster_database_url:
        return None
    store = connect(settings.dagster_database_url, patience=2.0)
    try:
        store.may_write()
    except FeedAssetsError as error:
        return problem("Dagster's storage", str(error), f"start that server, or correct or unset {PREFIX}DAGSTER_DATABASE_URL")
    finally:
        store.close()
    return None


def _daemons(case: Case, found: Checkup) -> Iterator[Finding]:
    running = is_up(case.settings.home)
    silent = {name: at for name, at in found.daemons.items() if at is None or case.now - at > _QUIET_DAEMON}
    if silent and len(silent) == len(found.daemons):
        last = max((at for at in silent.values() if at), default=None)
        told = (
            f"the last sign of life of Dagster's daemon was {relative(last, case.now)}" if last else "Dagster's daemon has never run here"
        )
        log = f"see what {case.settings.home / 'logs' / 'daemon.log'} says"
        yield problem("daemon", f"{told}, though `feed-assets up` runs", log) if running else warning("daemon", told, "feed-assets up")
    elif silent:
        yield problem(
            "daemon", f"parts of Dagster's daemon give no sign of life: {', '.join(sorted(silent))}", "stop and start `feed-assets up`"
        )
    else:
        yield ok("daemon", f"{len(found.daemons)} parts give signs of life")
    for name, reason in found.failing.items():
        yield warning("daemon", f"{name} reports: {reason}", "the Dagster UI shows the whole error under Deployment, Daemons")


def _switched_off(found: Checkup) -> Iterator[Finding]:
    for name in found.switched_off:
        consequence = _WITHOUT_POLLING.get(name, "what it would start does not start by itself")
        tell = problem if name == "due_feeds_sensor" else warning
        yield tell("sensors", f"{name} was switched off: {consequence}", f"switch {name} on in the Dagster UI, under Automation")
    if not found.switched_off:
        yield ok("sensors", "nobody has switched one off")
