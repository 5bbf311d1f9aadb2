"""`feed-assets doctor` on Dagster: its home, its storage, its daemons, and what somebody has switched off."""

from __future__ import annotations

import fcntl
import shutil
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus
from dagster._daemon.types import DaemonHeartbeat

from feed_assets.cli.doctor.dagster import check_dagster
from feed_assets.cli.doctor.finding import Case, Finding, Verdict
from feed_assets.refresh import utc_now
from feed_assets_tests.conftest import make_settings

LOCATION = GrpcServerCodeLocationOrigin(host="127.0.0.1", port=4000, location_name="feed_assets")
REPOSITORY = RemoteRepositoryOrigin(code_location_origin=LOCATION, repository_name="__repository__")


@pytest.fixture
def home(dagster_home: Path, tmp_path: Path) -> Path:
    """HOME with Dagster's tables; nothing has run there."""
    shutil.copytree(dagster_home, tmp_path / "home" / "dagster")
    return tmp_path / "home"


def findings(home: Path, dagster: str = "", **settings: str) -> dict[str, Finding]:
    """By name; each name at most once."""
    case = Case(make_settings(home, **settings), {}, {}, {"DAGSTER_HOME": dagster}, utc_now())
    found = list(check_dagster(case))
    assert len({each.name for each in found}) == len(found), found
    return {each.name: each for each in found}


def assert_told(finding: Finding, verdict: Verdict, found: str, remedy: str) -> None:
    assert finding.verdict is verdict, finding
    assert found in finding.found
    assert remedy in finding.remedy


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home / "dagster")) as opened:
        yield opened


def beat(instance: dg.DagsterInstance, *, ago: timedelta = timedelta(), but: str = "") -> None:
    for name in instance.get_required_daemon_types():
        if name != but:
            instance.add_daemon_heartbeat(DaemonHeartbeat((utc_now() - ago).timestamp(), name, None))


def test_a_home_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    assert findings(tmp_path)["Dagster's home"].verdict is Verdict.OK
    assert list(tmp_path.iterdir()) == []


def test_a_dagster_home_that_is_no_folder_is_a_problem(tmp_path: Path) -> None:
    told = findings(tmp_path, str(tmp_path / "nowhere"))["Dagster's home"]
    assert_told(told, Verdict.PROBLEM, "which is not a folder", f"mkdir -p {tmp_path / 'nowhere'}, or unset DAGSTER_HOME")


def test_a_dagster_home_without_its_file_is_a_warning(tmp_path: Path) -> None:
    assert_told(findings(tmp_path, str(tmp_path))["Dagster's home"], Verdict.WARNING, "no dagster.yaml", "copy dagster.yaml")


@pytest.mark.parametrize("text", ["concurrency: [", "just words", "\x00"])
def test_a_dagster_yaml_that_is_none_is_a_problem(home: Path, text: str) -> None:
    (home / "dagster" / "dagster.yaml").write_text(text)
    assert_told(findings(home)["Dagster's home"], Verdict.PROBLEM, "dagster.yaml", f"rm {home / 'dagster' / 'dagster.yaml'}")


def test_a_dagster_yaml_that_dagster_does_not_take_is_a_problem(home: Path) -> None:
    (home / "dagster" / "dagster.yaml").write_text("run_coordinator: {module: nowhere, class: Nobody}\n")
    assert_told(findings(home)["Dagster's storage"], Verdict.PROBLEM, "nowhere", "dagster.yaml")


def test_a_storage_that_is_damaged_is_a_problem(home: Path) -> None:
    (home / "dagster" / "history" / "runs.db").write_text("This is a letter. " * 500)
    assert_told(findings(home)["Dagster's storage"], Verdict.PROBLEM, "not a database", "move ")


def test_a_storage_on_a_server_that_is_down_is_a_problem_without_its_password(home: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        url = f"postgresql://me:hunter2@127.0.0.1:{nobody.getsockname()[1]}/dagster"
        told = findings(home, DAGSTER_DATABASE_URL=url)["Dagster's storage"]
    assert_told(told, Verdict.PROBLEM, "cannot reach", "FEED_ASSETS_DAGSTER_DATABASE_URL")
    assert "hunter2" not in told.found


def test_more_batches_than_runs_at_once_are_a_warning(home: Path) -> None:
    told = findings(home, MAX_BATCHES_IN_FLIGHT="9")["Dagster's home"]
    assert_told(told, Verdict.WARNING, "Dagster runs only 4 at once", "FEED_ASSETS_MAX_BATCHES_IN_FLIGHT=4")


def test_a_daemon_that_never_ran_is_a_warning(home: Path) -> None:
    assert_told(findings(home)["daemon"], Verdict.WARNING, "has never run here", "feed-assets up")


def test_a_daemon_that_is_silent_while_up_runs_is_a_problem(home: Path, instance: dg.DagsterInstance) -> None:
    beat(instance, ago=timedelta(hours=2))
    assert findings(home)["daemon"].verdict is Verdict.WARNING
    with (home / "up.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_told(findings(home)["daemon"], Verdict.PROBLEM, "2 h ago, though `feed-assets up` runs", "daemon.log")


def test_a_part_of_the_daemon_that_is_silent_is_a_problem(home: Path, instance: dg.DagsterInstance) -> None:
    beat(instance, but="SENSOR")
    assert_told(findings(home)["daemon"], Verdict.PROBLEM, "no sign of life: SENSOR", "stop and start")


def test_a_daemon_that_gives_signs_of_life_is_fine(home: Path, instance: dg.DagsterInstance) -> None:
    beat(instance)
    assert {name: each.verdict for name, each in findings(home).items()} == dict.fromkeys(
        ("Dagster's home", "Dagster's storage", "daemon", "sensors"), Verdict.OK
    )


@pytest.mark.parametrize(
    ("name", "verdict", "consequence"),
    [
        ("due_feeds_sensor", Verdict.PROBLEM, "no feed is fetched by itself"),
        ("recovery_sensor", Verdict.WARNING, "feeds of killed runs wait for their leases to end"),
    ],
)
def test_a_sensor_that_somebody_switched_off_is_told(
    home: Path, instance: dg.DagsterInstance, name: str, verdict: Verdict, consequence: str
) -> None:
    origin = RemoteInstigatorOrigin(repository_origin=REPOSITORY, instigator_name=name)
    instance.add_instigator_state(InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.STOPPED))
    assert_told(findings(home)["sensors"], verdict, f"{name} was switched off: {consequence}", f"switch {name} on in the Dagster UI")
