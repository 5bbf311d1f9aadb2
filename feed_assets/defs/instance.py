"""Dagster's home: the user's own, or one of ours under HOME, written from dagster.yaml and set up once."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from feed_assets.errors import SettingsError, StoreError
from feed_assets.settings import PREFIX, Settings

POSTGRES_VARIABLE = f"{PREFIX}DAGSTER_DATABASE_URL"
_NOTICE = "# Written by `feed-assets` at each start. To change it, copy it to a folder of your own and set DAGSTER_HOME to that.\n"


def prepare_dagster_home(settings: Settings) -> Path:
    """Make DAGSTER_HOME ready and put it into the environment, so that this process and its children agree on it."""
    own = os.environ.get("DAGSTER_HOME")
    home = Path(own) if own else settings.home.absolute() / "dagster"
    if own and not home.is_dir():
        raise SettingsError(f"DAGSTER_HOME is {own}, which is not a folder; create it or unset DAGSTER_HOME")
    home.mkdir(parents=True, exist_ok=True)
    if not own:
        if settings.dagster_database_url:
            os.environ[POSTGRES_VARIABLE] = settings.dagster_database_url.replace("postgres://", "postgresql://", 1)
        (home / "dagster.yaml").write_text(_NOTICE + _instance_yaml(settings))
    os.environ["DAGSTER_HOME"] = str(home.absolute())
    # Several processes that create Dagster's tables at the same moment trip over each other: one goes first.
    with (home / ".setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _touch_storage()
    return home


def event_log_size(instance: dg.DagsterInstance) -> dict[str, float]:
    """How large Dagster's event log is, and how many runs there are: signals for the metrics. What cannot be measured is left out."""
    sizes: dict[str, float] = {"dagster_runs": float(instance.get_runs_count())}
    storage: Any = instance.event_log_storage
    history = Path(instance.root_directory) / "history"
    if "postgres" in type(storage).__name__.lower():
        with storage.index_connection() as connection:
            sizes["dagster_event_log_bytes"] = float(
                connection.exec_driver_sql("SELECT pg_total_relation_size('event_logs')").scalar() or 0
            )
    elif history.is_dir():
        sizes["dagster_event_log_bytes"] = float(sum(path.stat().st_size for path in history.rglob("*") if path.is_file()))
    return sizes


def _touch_storage() -> None:
    try:
        with dg.DagsterInstance.get() as instance:
            instance.get_runs_count()
            instance.get_dynamic_partitions("feeds")
            instance.all_instigator_state()
    except Exception as error:  # Dagster raises anything from configuration to driver errors here
        raise StoreError(f"Dagster's storage cannot be used: {' '.join(str(error).split())[:300]}") from error


def _instance_yaml(settings: Settings) -> str:
    document = yaml.safe_load(_template().read_text("utf-8"))
    if settings.dagster_database_url:
        document["storage"] = {"postgres": {"postgres_url": {"env": POSTGRES_VARIABLE}}}
    return yaml.safe_dump(document, sort_keys=False)


def _template() -> Path:
    package = Path(__file__).resolve().parents[1]
    return next(path for path in (package / "dagster.yaml", package.parent / "dagster.yaml") if path.is_file())
