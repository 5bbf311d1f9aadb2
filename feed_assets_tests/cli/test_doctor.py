"""`feed-assets doctor`: each broken set-up is found, with what to do about it; a sound one has no problem; no secret is shown."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from feed_assets.cli.doctor.feeds import check_clock
from feed_assets.cli.doctor.files import judge_space
from feed_assets.cli.doctor.finding import Verdict
from feed_assets.cli.doctor.versions import judge_versions
from feed_assets.refresh import utc_now
from feed_assets.store import Store, connect
from feed_assets_tests.store.builders import claim_due, make_feed, put, save_schedule, start_python
from feed_assets_tests.support.command_line import Run
from feed_assets_tests.support.databases import postgres_server

SECRET = "hunter2"
HOLD = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def ports_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs on this machine while the tests do is not their business."""
    monkeypatch.setenv("FEED_ASSETS_API_PORT", str(free_port()))
    monkeypatch.setenv("FEED_ASSETS_DAGSTER_URL", f"http://127.0.0.1:{free_port()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def examined(run: Run, **variables: str) -> list[dict[str, Any]]:
    """All findings; the exit code must agree with them."""
    ran = run("doctor", "--json", **variables)
    findings: list[dict[str, Any]] = ran.json()
    problems = sum(each["verdict"] == "problem" for each in findings)
    assert ran.code == (1 if problems else 0)
    assert ran.err == (f"error: {problems} problem{'s' * (problems > 1)}\n" if problems else "")
    assert all(set(each) == {"name", "verdict", "found", "remedy"} for each in findings)
    assert all(bool(each["remedy"]) == (each["verdict"] != "ok") for each in findings)
    assert SECRET not in ran.out + ran.err
    return findings


def assert_found(findings: list[dict[str, Any]], verdict: str, name: str, found: str, remedy: str) -> None:
    """Exactly one finding of that name says so, and what to do."""
    fitting = [each for each in findings if each["name"] == name and found in each["found"]]
    assert [each["verdict"] for each in fitting] == [verdict], findings
    assert remedy in fitting[0]["remedy"]


def problems(findings: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in findings if each["verdict"] == "problem"]


def test_a_sound_set_up_has_no_problem(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, "news", due=utc_now() + timedelta(minutes=1))
        tx.numbers.signal("sensor", at=utc_now())
    findings = examined(both, DOMAIN_DELAY_SECONDS="3")
    assert [each for each in findings if each["verdict"] != "ok"] == []
    assert {"settings", "versions", "home", "disk", "database", "clock", "feeds", "leases", "sensor", "code location"} <= {
        each["name"] for each in findings
    }


def test_a_machine_where_nothing_was_ever_started_has_no_problem_and_stays_as_it_is(bare: Run, tmp_path: Path) -> None:
    assert problems(examined(bare)) == []
    assert not (tmp_path / "home").exists()


def test_for_people_each_finding_is_a_line_and_each_remedy_another(both: Run) -> None:
    ran = both("doctor", API_PORT="0")
    lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (1, "error: 1 problem\n")
    assert {line.split()[0] for line in lines} == {"ok", "warning", "problem", "->"}
    place = next(place for place, line in enumerate(lines) if line.startswith("problem"))
    assert "API_PORT is 0" in lines[place] and "remove FEED_ASSETS_API_PORT" in lines[place + 1]


def test_all_settings_that_are_wrong_are_named_and_the_rest_is_examined(both: Run) -> None:
    findings = examined(both, BATCH_SIZ="5", BATCH_SIZE="many", MIN_INTERVAL_MINUTES="20", MAX_INTERVAL_MINUTES="10", API_TOKEN=SECRET)
    assert_found(findings, "problem", "settings", "did you mean FEED_ASSETS_BATCH_SIZE?", "correct or remove FEED_ASSETS_BATCH_SIZ;")
    assert_found(findings, "problem", "settings", "valid integer", "correct or remove FEED_ASSETS_BATCH_SIZE;")
    assert_found(
        findings, "problem", "settings", "FEED_ASSETS_API_TOKEN: API_TOKEN is too short", "correct or remove FEED_ASSETS_API_TOKEN;"
    )
    both_ends = [each for each in findings if "MIN_INTERVAL_MINUTES is larger than MAX" in each["found"]]
    assert len(both_ends) == 2
    assert "database" not in problems(findings)


@pytest.mark.parametrize(
    ("variables", "found", "remedy"),
    [
        ({"LEASE_SECONDS": "20", "JOB_TIMEOUT_SECONDS": "45"}, "LEASE_SECONDS (20) is shorter", "FEED_ASSETS_LEASE_SECONDS=600"),
        ({"REQUEST_TIMEOUT_SECONDS": "60", "JOB_TIMEOUT_SECONDS": "45"}, "has no effect", "FEED_ASSETS_JOB_TIMEOUT_SECONDS=90"),
        ({"BATCH_SIZE": "5", "FETCH_WORKERS": "50"}, "threads have nothing to do", "FEED_ASSETS_BATCH_SIZE=500"),
        ({"API_HOST": "0.0.0.0"}, "any number of requests", "FEED_ASSETS_API_RATE_LIMIT=600"),
        ({"API_HOST": "0.0.0.0", "API_TOKEN": f"{SECRET}-{SECRET}-{SECRET}"}, "travels unencrypted", "FEED_ASSETS_PUBLIC_URL=https://"),
        ({"SENSOR_INTERVAL_SECONDS": "300"}, "/health fails", "FEED_ASSETS_HEALTH_SENSOR_SECONDS=1200"),
        ({"PROFILE": "polite", "BACKOFF_MAX_MINUTES": "5"}, "more often than others", "FEED_ASSETS_BACKOFF_MAX_MINUTES=60"),
    ],
)
def test_settings_that_do_not_go_together_are_a_warning(bare: Run, variables: dict[str, str], found: str, remedy: str) -> None:
    assert_found(examined(bare, **variables), "warning", "settings together", found, remedy)


def test_settings_of_a_demo_that_are_still_there_are_a_warning(bare: Run) -> None:
    Path(".env").write_text("FEED_ASSETS_ALLOW_PRIVATE_NETWORKS=true\n")
    findings = examined(bare, DOMAIN_DELAY_SECONDS="0.2", API_HOST="0.0.0.0")
    assert_found(findings, "warning", "manners", "DOMAIN_DELAY_SECONDS is 0.2 (from environment)", "the default is 3 seconds")
    assert_found(findings, "warning", "manners", "ALLOW_PRIVATE_NETWORKS is on", "FEED_ASSETS_API_HOST=127.0.0.1")


def test_a_dotenv_file_with_a_password_that_all_can_read_is_a_warning(bare: Run) -> None:
    path = Path(".env")
    path.write_text(f"FEED_ASSETS_DAGSTER_DATABASE_URL=postgresql://me:{SECRET}@127.0.0.1:1/dagster\n")
    path.chmod(0o644)
    assert_found(examined(bare), "warning", ".env", "everybody on this machine can read it (mode 644)", "chmod 600 .env")
    path.chmod(0o600)
    assert not any(each["name"] == ".env" and each["verdict"] != "ok" for each in examined(bare))


def test_a_dotenv_file_that_is_not_text_is_a_problem(bare: Run) -> None:
    Path(".env").write_bytes(b"FEED_ASSETS_BATCH_SIZE=\xff\xfe\n")
    assert_found(examined(bare), "problem", "settings", "cannot read .env", "correct or remove .env")


def test_a_database_url_of_another_kind_is_a_problem_and_no_other_database_is_looked_at(bare: Run) -> None:
    findings = examined(bare, DATABASE_URL=f"mysql://me:{SECRET}@db.example/feeds")
    assert_found(findings, "problem", "settings", "must start with duckdb:///", "correct or remove FEED_ASSETS_DATABASE_URL;")
    assert_found(findings, "problem", "database", "not looked at", "correct FEED_ASSETS_DATABASE_URL")


def test_a_file_that_is_no_database_is_a_problem(bare: Run, tmp_path: Path) -> None:
    path = tmp_path / "letter.duckdb"
    path.write_text("Dear reader, " * 1000)
    assert_found(examined(bare, DATABASE_URL=f"duckdb:///{path}"), "problem", "database", "letter.duckdb", "move that file away")


def test_a_database_in_a_folder_that_cannot_be_is_a_problem(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    findings = examined(bare, DATABASE_URL=f"duckdb:///{tmp_path}/file/feeds.duckdb", HOME=str(tmp_path / "file" / "home"))
    assert_found(findings, "problem", "database", "cannot create", "make the folder writable")
    assert_found(findings, "problem", "home", "cannot be made", "FEED_ASSETS_HOME")


def test_a_database_that_another_process_holds_is_a_problem(run: Run, tmp_path: Path) -> None:
    holder = start_python(HOLD, str(tmp_path / "home" / "feeds.duckdb"))
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        assert_found(examined(run), "problem", "database", "in use by another process", "close what has it open")
    finally:
        holder.communicate("")


def test_a_server_that_is_down_is_a_problem(bare: Run) -> None:
    findings = examined(bare, DATABASE_URL=f"postgresql://me:{SECRET}@127.0.0.1:1/feeds")
    assert_found(findings, "problem", "database", "cannot reach postgresql://me:***@127.0.0.1:1/feeds", "start the Postgres server")


def test_a_database_and_a_user_that_are_not_there_are_problems(bare: Run, postgres_url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    findings = examined(bare, DATABASE_URL=postgres_url.replace(str(name), "nowhere"))
    assert_found(findings, "problem", "database", 'database "nowhere" does not exist', "createdb")
    stranger = postgres_url.replace("postgresql://postgres", "postgresql://stranger")
    assert_found(examined(bare, DATABASE_URL=stranger), "problem", "database", 'role "stranger" does not exist', "correct the user")


@contextmanager
def user_with_a_password(url: str) -> Iterator[str]:
    """The URL with a user whom the server lets in by password only. A line of its own in pg_hba.conf concerns nobody else."""
    with psycopg.connect(postgres_server(), autocommit=True) as server:
        row = server.execute("SHOW hba_file").fetchone()
        assert row is not None
        rules = Path(str(row[0]))
        before = rules.read_text()
        server.execute(f"CREATE ROLE locked_out LOGIN PASSWORD '{SECRET}'")
        rules.write_text(f"local all locked_out scram-sha-256\n{before}")
        server.execute("SELECT pg_reload_conf()")
        try:
            yield url.replace("postgresql://postgres:", f"postgresql://locked_out:not-{SECRET}")
        finally:
            rules.write_text(before)
            server.execute("SELECT pg_reload_conf()")
            server.execute("DROP ROLE locked_out")


@pytest.mark.skipif("FEED_ASSETS_TEST_POSTGRES_URL" in os.environ, reason="needs a server of our own, whose rules may be changed")
def test_a_wrong_password_is_a_problem(bare: Run, postgres_url: str) -> None:
    with user_with_a_password(postgres_url) as url:
        findings = examined(bare, DATABASE_URL=url)
    assert_found(findings, "problem", "database", "password authentication failed", "correct the user or the password")


def test_a_server_that_takes_no_writes_is_a_problem(bare: Run, postgres_url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    with psycopg.connect(postgres_server(), autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        try:
            findings = examined(bare, DATABASE_URL=postgres_url)
        finally:
            server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
    assert_found(findings, "problem", "database", "nothing can be written", "GRANT CREATE")


def set_version(store: Store, statement: str) -> None:
    with store.engine.begin() as connection:
        connection.script(statement)


def test_a_database_of_a_newer_version_is_a_problem(both: Run, stored: Store) -> None:
    set_version(stored, "INSERT INTO schema_migrations VALUES (999, 'future', now())")
    try:
        assert_found(examined(both), "problem", "database", "schema version 999", "upgrade feed_assets")
    finally:
        set_version(stored, "DELETE FROM schema_migrations WHERE version = 999")


def test_a_database_that_waits_for_migrations_is_a_warning_and_stays_as_it_is(bare: Run, tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT, applied_at TIMESTAMPTZ)")
        database.execute("INSERT INTO schema_migrations VALUES (1, 'initial', now())")
    assert_found(examined(bare, DATABASE_URL=f"duckdb:///{path}"), "warning", "database", "schema version 1 of", "feed-assets db migrate")
    assert connect(f"duckdb:///{path}").schema_versions()[0] == 1


def test_a_clock_that_was_set_back_is_a_problem(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, "news")
        save_schedule(tx, "news", last_status="success", last_fetched_at=utc_now() + timedelta(hours=3))
    assert_found(examined(both), "problem", "clock", "from the future, in 3 h", "timedatectl set-ntp true")


@pytest.mark.parametrize(("minutes", "words"), [(10, "10 min ahead of"), (-10, "10 min behind")])
def test_a_clock_that_differs_from_the_servers_is_a_problem(stored: Store, minutes: int, words: str) -> None:
    with stored.read() as tx:
        finding = check_clock(tx.numbers.moments(), utc_now() + timedelta(minutes=minutes))
    assert (finding.verdict, words in finding.found) == (Verdict.PROBLEM, True)


def test_leases_that_nobody_took_over_are_a_problem_when_they_are_many(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, *(f"feed-{number}" for number in range(12)))
        claim_due(tx, now=utc_now() - timedelta(hours=1))
    assert_found(examined(both), "problem", "leases", "12 leases have run out", "feed-assets up")
    assert_found(examined(both, HEALTH_MAX_STUCK="13"), "warning", "leases", "12 leases have run out", "refresh --due")


def test_a_large_share_of_dead_feeds_is_a_warning_with_the_kinds_of_errors(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, "a", "b", make_feed("off", enabled=False), due=utc_now() + timedelta(hours=1))
        save_schedule(tx, "a", last_status="permanent_error", last_error="HTTP 404 Not Found: the feed is not there any more")
    assert_found(examined(both), "warning", "feeds", "1 of 2 enabled feeds are dead (errors: 1 gone (404, 410))", "feed list --dead")


def test_a_sensor_that_has_stopped_and_what_that_leaves_due_are_problems(both: Run, stored: Store) -> None:
    with stored.begin() as tx:
        put(tx, "news", due=utc_now() - timedelta(hours=5))
        tx.numbers.signal("sensor", at=utc_now() - timedelta(hours=5))
    findings = examined(both)
    assert_found(findings, "problem", "sensor", "5 h ago: nothing is fetched by itself", "feed-assets up")
    assert_found(findings, "problem", "queue", "the oldest for 5 h, 1 due", "FEED_ASSETS_MAX_BATCHES_IN_FLIGHT=4")


@contextmanager
def held(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_an_up_whose_parts_do_not_answer_is_a_problem(run: Run, tmp_path: Path) -> None:
    with held(tmp_path / "home" / "up.lock"):
        findings = examined(run)
    assert_found(findings, "problem", "port of the HTTP API", "nothing listens", "stop and start")
    assert_found(findings, "ok", "up", "runs in", "")


def test_locks_and_leftovers_of_a_killed_demo_are_warnings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home" / "demo.env").write_text("FEED_ASSETS_SENSOR_INTERVAL_SECONDS=5\n")
    with held(tmp_path / "home" / "dagster" / ".setup.lock"):
        findings = examined(run)
    assert_found(findings, "warning", "demo", "was left by a demo", f"rm {tmp_path / 'home' / 'demo.env'}")
    assert_found(findings, "warning", "locks", ".setup.lock", "fuser")


def test_a_port_that_another_program_has_is_a_warning(bare: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        findings = examined(bare, API_PORT=str(port))
    assert_found(findings, "warning", "port of the HTTP API", f"another program listens on 127.0.0.1:{port}", "FEED_ASSETS_API_PORT")


@pytest.mark.parametrize(("text", "reason"), [(None, "cannot be followed"), ("feeds: 5", "feeds"), ("{broken", "feeds.yaml")])
def test_a_feeds_file_that_cannot_be_followed_is_a_problem(bare: Run, tmp_path: Path, text: str | None, reason: str) -> None:
    file = tmp_path / "feeds.yaml"
    if text is not None:
        file.write_text(text)
    assert_found(examined(bare, FEEDS_FILE=str(file)), "problem", "feeds file", reason, "FEED_ASSETS_FEEDS_FILE")


def test_a_tmpdir_that_is_not_there_is_a_warning(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    assert_found(examined(bare), "warning", "temporary files", "TMPDIR is /nowhere/at/all", "unset TMPDIR")


@pytest.mark.parametrize(
    ("free", "free_files", "all_files", "verdict"),
    [
        (50e9, 10**6, 10**7, Verdict.OK),
        (50e9, 0, 0, Verdict.OK),
        (5e8, 10**6, 10**7, Verdict.WARNING),
        (5e7, 10**6, 10**7, Verdict.PROBLEM),
        (50e9, 50, 10**7, Verdict.PROBLEM),
    ],
)
def test_little_room_on_a_disk_is_told(free: float, free_files: int, all_files: int, verdict: Verdict) -> None:
    finding = judge_space("disk", "/data", free, free_files=free_files, all_files=all_files)
    assert finding.verdict is verdict
    assert "make room at /data" in finding.remedy or verdict is Verdict.OK


FITTING = {"dagster": "1.13.27", "dagster-webserver": "1.13.27", "dagster-postgres": "0.29.27", "sqlalchemy": "2.0.40", "duckdb": "1.4.0"}


@pytest.mark.parametrize(
    ("wrong", "verdict", "found", "remedy"),
    [
        ({"dagster-webserver": "1.13.26"}, "problem", "they must be the same", "requirements.lock"),
        ({"dagster-postgres": "0.28.27"}, "problem", "0.29.27 goes with it", "requirements.lock"),
        ({"sqlalchemy": "2.1.0"}, "problem", "writing events to Postgres fails", "sqlalchemy<2.1"),
        ({"duckdb": "1.3.2"}, "problem", "DuckDB is 1.3.2", "duckdb>=1.4"),
        ({"dagster-webserver": None}, "problem", "not installed: dagster-webserver", "make up"),
    ],
)
def test_versions_that_do_not_fit_each_other_are_problems(wrong: dict[str, str | None], verdict: str, found: str, remedy: str) -> None:
    (finding,) = judge_versions(FITTING | wrong, (3, 11), dagster_on_postgres=True)
    assert (finding.verdict, found in finding.found, remedy in finding.remedy) == (verdict, True, True)


def test_versions_that_fit_are_fine_and_a_new_sqlalchemy_is_a_warning_without_postgres() -> None:
    assert list(judge_versions(FITTING, (3, 14), dagster_on_postgres=True)) == []
    (finding,) = judge_versions(FITTING | {"sqlalchemy": "2.1.0"}, (3, 11), dagster_on_postgres=False)
    assert finding.verdict is Verdict.WARNING
    (old,) = judge_versions(FITTING, (3, 10), dagster_on_postgres=True)
    assert "Python 3.11 or newer" in old.remedy


def test_code_that_cannot_be_loaded_is_a_problem(bare: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "feed_assets.defs.checkup", None)
    assert_found(examined(bare), "problem", "code location", "it cannot be loaded", "dagster definitions validate")
