"""What Dagster tells of itself, for `feed-assets doctor`: looks only, starts and sets up nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from feed_assets.defs.build import build_definitions
from feed_assets.defs.instance import POSTGRES_VARIABLE
from feed_assets.errors import StoreError
from feed_assets.settings import Settings

_SWITCHED_OFF = "STOPPED"


@dataclass(frozen=True, slots=True)
class Checkup:
    daemons: Mapping[str, datetime | None]  # those that must run -> their last sign of life
    failing: Mapping[str, str]  # daemon -> the error that it reported last
    switched_off: tuple[str, ...]  # sensors and schedules that somebody has stopped


def examine(settings: Settings, home: Path) -> Checkup:
    """Raises StoreError when the instance or its storage cannot be used."""
    if settings.dagster_database_url:
        os.environ.setdefault(POSTGRES_VARIABLE, settings.dagster_database_url.replace("postgres://", "postgresql://", 1))
    try:
        with dg.DagsterInstance.from_config(str(home)) as instance:
            instance.get_runs_count()
            beats = instance.get_daemon_heartbeats()
            return Checkup(
                {name: _moment(beats[name].timestamp) if name in beats else None for name in instance.get_required_daemon_types()},
                {name: _first_line(str(beat.errors[0].message)) for name, beat in beats.items() if beat.errors},
                tuple(sorted(state.name for state in instance.all_instigator_state() if state.status.value == _SWITCHED_OFF)),
            )
    except Exception as error:  # Dagster raises anything from configuration to driver errors here
        raise StoreError(" ".join(str(error).split())[:300] or type(error).__name__) from error


def validate() -> None:
    """Load the definitions as the daemon and the UI do; raises what is wrong with them."""
    dg.Definitions.validate_loadable(build_definitions())


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:300]
