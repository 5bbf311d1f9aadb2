"""`feed-assets config`, `db migrate`, `--version`, and the help of every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from feed_assets import __version__
from feed_assets.cli.main import app
from feed_assets.settings import Settings
from feed_assets_tests.support.command_line import Run
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that lead to it."""
    below = getattr(command, "commands", {})
    if not below:
        yield path, command
    for name, each in below.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(get_command(app)))


def by_name(run: Run, **variables: str) -> dict[str, dict[str, Any]]:
    return {row["setting"]: row for row in run("config", "--json", **variables).json()}


def test_config_lists_every_setting_with_value_source_and_description(bare: Run) -> None:
    rows = bare("config", "--json").json()
    assert [row["setting"] for row in rows] == [name.upper() for name in Settings.model_fields]
    assert all(set(row) == {"setting", "value", "source", "description"} and row["description"] for row in rows)


def test_config_says_where_a_value_comes_from(bare: Run) -> None:
    Path(".env").write_text("FEED_ASSETS_BATCH_SIZE=11\nFEED_ASSETS_FETCH_WORKERS=12\nOTHER=1\n")
    rows = by_name(bare, FETCH_WORKERS="13", PROFILE="polite")
    seen = {name: (rows[name]["value"], rows[name]["source"]) for name in ("BATCH_SIZE", "FETCH_WORKERS", "LEASE_SECONDS", "PROFILE")}
    assert seen == {
        "BATCH_SIZE": (11, ".env"),
        "FETCH_WORKERS": (13, "environment"),
        "LEASE_SECONDS": (600, "default"),
        "PROFILE": ("polite", "environment"),
    }
    assert (rows["MIN_INTERVAL_MINUTES"]["value"], rows["MIN_INTERVAL_MINUTES"]["source"]) == (15, "profile polite")


def test_the_defaults_are_those_of_the_contract(bare: Run) -> None:
    rows = by_name(bare)
    expected = {
        "LOG_LEVEL": "INFO",
        "LOG_FORMAT": "console",
        "SENSOR_INTERVAL_SECONDS": 15,
        "BATCH_SIZE": 200,
        "MAX_BATCHES_IN_FLIGHT": 2,
        "FETCH_WORKERS": 20,
        "MAX_BODY_MB": 2,
        "MAX_REDIRECTS": 10,
        "PROFILE": "news",
        "MIN_INTERVAL_MINUTES": 1,
        "MAX_INTERVAL_MINUTES": 15,
        "TARGET_ARTICLES_PER_FETCH": 5,
        "HINT_MAX_MINUTES": 1440,
        "MAX_CONSECUTIVE_ERRORS": 10,
        "BACKOFF_MAX_MINUTES": 60,
        "LEASE_SECONDS": 600,
        "MAX_ARTICLES_PER_FEED": 100,
        "FEED_XML_ITEMS": 50,
        "DEDUP_RETENTION_DAYS": 7,
        "RAW_RETENTION_DAYS": 7,
        "ARTICLE_RETENTION_DAYS": 365,
        "ANALYZER": "none",
        "API_HOST": "127.0.0.1",
        "API_PORT": 8080,
    }
    assert {name: rows[name]["value"] for name in expected} == expected
    assert rows["USER_AGENT"]["value"].startswith(f"feed_assets/{__version__} (+http")


def test_the_database_is_by_default_a_file_in_home(bare: Run, tmp_path: Path) -> None:
    assert by_name(bare)["DATABASE_URL"]["value"] == f"duckdb:///{tmp_path / 'home' / 'feeds.duckdb'}"


@pytest.mark.parametrize("name", ["DATABASE_URL", "DAGSTER_DATABASE_URL"])
def test_config_masks_passwords(bare: Run, name: str) -> None:
    url = "postgresql://reader:hunter2@db.example/feeds"
    for ran in (bare("config", **{name: url}), bare("config", "--json", **{name: url})):
        assert ran.code == 0
        assert "postgresql://reader:***@db.example/feeds" in ran.out
        assert "hunter2" not in ran.out + ran.err


def test_config_masks_a_password_among_the_parameters(bare: Run) -> None:
    assert "hunter2" not in bare("config", DATABASE_URL="postgresql://reader@db.example/feeds?password=hunter2").out


def test_config_for_people_has_one_line_per_setting(bare: Run) -> None:
    lines = bare("config").out.splitlines()
    assert [line.split()[0] for line in lines] == ["setting", *(name.upper() for name in Settings.model_fields)]


def test_config_needs_no_database(bare: Run, tmp_path: Path) -> None:
    assert bare("config").code == 0
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_migrate_says_what_it_did(bare: Run, engine: str) -> None:
    url = new_postgres_database() if engine == "postgres" else ""
    first, second = bare("db", "migrate", DATABASE_URL=url), bare("db", "migrate", DATABASE_URL=url)
    if url:
        drop_postgres_database(url)
    assert first.code == 0 and first.out.startswith("applied 001_initial")
    assert (second.code, second.out) == (0, "the schema is up to date\n")


def test_version_names_the_package(bare: Run) -> None:
    assert bare("--version") == (0, f"feed_assets {__version__}\n", "")


def test_the_commands_of_the_contract_that_exist_are_found() -> None:
    assert set(COMMANDS) >= {
        ("up",),
        ("refresh",),
        ("replay",),
        ("serve",),
        ("config",),
        ("status",),
        ("doctor",),
        ("simulate",),
        ("db", "migrate"),
    }
    names = ("add", "list", "show", "edit", "delete", "enable", "disable", "polling", "sync", "import")
    assert set(COMMANDS) >= {("feed", name) for name in names}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_for_itself_and_for_each_parameter(bare: Run, path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    ran = bare(*path, "--help")
    assert command.help
    assert (ran.code, ran.err) == (0, "")
    assert " ".join(command.help.split()[:3]) in ran.out
    assert all(getattr(parameter, "help", None) for parameter in command.params), path
