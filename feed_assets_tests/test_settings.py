"""Settings: the defaults of the design, where values come from, and what is said about wrong ones."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest

from feed_assets import __version__
from feed_assets.errors import SettingsError
from feed_assets.settings import PREFIX, REPOSITORY_URL, Settings, demo_file, describe_settings, load_settings, up_lock
from feed_assets.urls import mask_password

DEFAULTS = {
    "LOG_LEVEL": "INFO",
    "LOG_FORMAT": "console",
    "HOME": Path(".feed_assets"),
    "SENSOR_INTERVAL_SECONDS": 15,
    "BATCH_SIZE": 200,
    "MAX_BATCHES_IN_FLIGHT": 2,
    "FETCH_WORKERS": 20,
    "DOMAIN_DELAY_SECONDS": 3,
    "REQUEST_TIMEOUT_SECONDS": 30,
    "JOB_TIMEOUT_SECONDS": 45,
    "MAX_BODY_MB": 2,
    "MAX_REDIRECTS": 10,
    "ALLOW_PRIVATE_NETWORKS": False,
    "USER_AGENT": f"feed_assets/{__version__} (+{REPOSITORY_URL})",
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


def load(dotenv: Path | None = None, **values: object) -> Settings:
    return load_settings({PREFIX + name: str(value) for name, value in values.items()}, dotenv)


def refusal(dotenv: Path | None = None, **values: object) -> str:
    with pytest.raises(SettingsError) as refused:
        load(dotenv, **values)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def described(dotenv: Path | None = None, **values: object) -> dict[str, dict[str, Any]]:
    rows = describe_settings({PREFIX + name: str(value) for name, value in values.items()}, dotenv)
    return {row["setting"]: row for row in rows}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_the_design(name: str) -> None:
    assert getattr(load(), name.lower()) == DEFAULTS[name]


def test_the_database_is_a_duckdb_file_in_home() -> None:
    assert load().store_url == f"duckdb:///{Path('.feed_assets').absolute()}/feeds.duckdb"
    assert load(HOME="/data/feeds").store_url == "duckdb:////data/feeds/feeds.duckdb"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("BATCH_SIZ", "BATCH_SIZE"), ("batch_size", "BATCH_SIZE"), ("MIN_INTERVAL", "MIN_INTERVAL_MINUTES"), ("DATABASEURL", "DATABASE_URL")],
)
def test_an_unknown_setting_is_refused_with_the_one_that_was_meant(name: str, hint: str) -> None:
    message = refusal(**{name: 1})
    assert f"unknown setting {PREFIX}{name}" in message
    assert f"did you mean {PREFIX}{hint}?" in message


def test_an_unknown_setting_like_no_other_is_refused_without_a_guess() -> None:
    message = refusal(QWXYZ=1)
    assert f"unknown setting {PREFIX}QWXYZ" in message
    assert "did you mean" not in message


def test_variables_without_the_prefix_are_not_ours() -> None:
    assert load_settings({"BATCH_SIZE": "nonsense", "HOME": "/root", "feed_assets_batch_size": "1"}, None) == load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BATCH_SIZE", "many"),
        ("BATCH_SIZE", "0"),
        ("BATCH_SIZE", "1.5"),
        ("MIN_INTERVAL_MINUTES", "0"),
        ("DOMAIN_DELAY_SECONDS", "-1"),
        ("DOMAIN_DELAY_SECONDS", "nan"),
        ("JOB_TIMEOUT_SECONDS", "inf"),
        ("ALLOW_PRIVATE_NETWORKS", "perhaps"),
        ("PROFILE", "fast"),
        ("LOG_LEVEL", "LOUD"),
        ("LOG_FORMAT", "xml"),
        ("ANALYZER", "magic"),
        ("API_PORT", "70000"),
        ("USER_AGENT", "two\nlines"),
        ("USER_AGENT", "Füße"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_name_and_itself(name: str, value: str) -> None:
    message = refusal(**{name: value})
    assert message.startswith(f"{PREFIX}{name}: ")
    assert repr(value) in message


@pytest.mark.parametrize("url", ["mysql://user:secret@host/name", "feeds.duckdb", "postgresql://user:secret@[bad/name"])
def test_a_database_that_is_neither_duckdb_nor_postgres_is_refused_without_its_password(url: str) -> None:
    assert "secret" not in refusal(DATABASE_URL=url)


def test_dagster_keeps_its_events_in_postgres_or_nowhere_else() -> None:
    assert "DAGSTER_DATABASE_URL must start with postgresql://" in refusal(DAGSTER_DATABASE_URL="duckdb:///x")


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("1", True), ("FALSE", False), ("no", False)])
def test_switches_take_the_usual_words(value: str, expected: bool) -> None:
    assert load(ALLOW_PRIVATE_NETWORKS=value).allow_private_networks is expected


def test_a_log_level_may_be_written_small() -> None:
    assert load(LOG_LEVEL="debug").log_level == "DEBUG"


def test_a_setting_that_is_set_to_nothing_is_not_set() -> None:
    assert load(BATCH_SIZE="", DATABASE_URL="  ") == load()


def test_a_dotenv_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# mine\nFEED_ASSETS_BATCH_SIZE=7\nexport FEED_ASSETS_USER_AGENT='my reader'\nOTHER=1\n")
    settings = load(file)
    assert (settings.batch_size, settings.user_agent) == (7, "my reader")


def test_the_dotenv_file_of_the_working_directory_is_the_default(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FEED_ASSETS_BATCH_SIZE=7\n")
    assert load_settings({}).batch_size == 7


def test_no_dotenv_file_is_no_trouble(tmp_path: Path) -> None:
    assert load(tmp_path / ".env") == load()


def test_the_environment_wins_over_the_dotenv_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("FEED_ASSETS_BATCH_SIZE=7\nFEED_ASSETS_FETCH_WORKERS=3\n")
    settings = load(file, BATCH_SIZE=8)
    assert (settings.batch_size, settings.fetch_workers) == (8, 3)


def test_an_unknown_setting_in_the_dotenv_file_is_refused_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("FEED_ASSETS_BATCH_SIZ=7\n")
    assert f"(from {file})" in refusal(file)


@pytest.mark.parametrize(("profile", "clamp"), [("news", (1, 15)), ("polite", (15, 1440))])
def test_a_profile_sets_the_shortest_and_longest_interval(profile: str, clamp: tuple[float, float]) -> None:
    settings = load(PROFILE=profile)
    assert (settings.min_interval_minutes, settings.max_interval_minutes) == clamp


def test_explicit_intervals_win_over_the_profile() -> None:
    settings = load(PROFILE="polite", MIN_INTERVAL_MINUTES=5, MAX_INTERVAL_MINUTES=60)
    assert (settings.min_interval_minutes, settings.max_interval_minutes) == (5, 60)


def test_one_explicit_interval_leaves_the_other_to_the_profile() -> None:
    assert (load(PROFILE="polite", MIN_INTERVAL_MINUTES=5).max_interval_minutes, load(MAX_INTERVAL_MINUTES=60).min_interval_minutes) == (
        1440,
        1,
    )


@pytest.mark.parametrize(
    ("values", "clamp"), [({"MIN_INTERVAL_MINUTES": 30}, (30, 30)), ({"PROFILE": "polite", "MAX_INTERVAL_MINUTES": 10}, (10, 10))]
)
def test_one_explicit_interval_past_the_profiles_other_end_wins_over_it(values: dict[str, Any], clamp: tuple[float, float]) -> None:
    settings = load(**values)
    assert (settings.min_interval_minutes, settings.max_interval_minutes) == clamp


def test_explicit_intervals_that_contradict_each_other_are_refused() -> None:
    assert "MIN_INTERVAL_MINUTES is larger than MAX_INTERVAL_MINUTES" in refusal(MIN_INTERVAL_MINUTES=60, MAX_INTERVAL_MINUTES=5)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:secret@db.example/feeds", "postgresql://ann:***@db.example/feeds"),
        ("postgresql://ann:p@ss:word@db.example:5432/feeds?sslmode=require", "postgresql://ann:***@db.example:5432/feeds?sslmode=require"),
        ("postgresql://ann@db.example/feeds", "postgresql://ann@db.example/feeds"),
        ("duckdb:///feeds.duckdb", "duckdb:///feeds.duckdb"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    assert mask_password(url) == shown


def test_a_password_among_the_parameters_is_masked() -> None:
    assert "secret" not in mask_password("postgresql://db.example/feeds?user=ann&password=secret")


@pytest.mark.parametrize("name", ["DATABASE_URL", "DAGSTER_DATABASE_URL"])
def test_the_list_of_settings_shows_no_password(name: str) -> None:
    rows = described(**{name: "postgresql://ann:secret@db.example/feeds"})
    assert rows[name]["value"] == "postgresql://ann:***@db.example/feeds"
    assert "secret" not in str(rows)


def test_the_list_of_settings_says_where_each_value_comes_from(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("FEED_ASSETS_BATCH_SIZE=7\n")
    rows = described(file, FETCH_WORKERS=3, PROFILE="polite", MAX_INTERVAL_MINUTES=60)
    sources = {
        name: rows[name]["source"]
        for name in ("BATCH_SIZE", "FETCH_WORKERS", "LEASE_SECONDS", "MIN_INTERVAL_MINUTES", "MAX_INTERVAL_MINUTES")
    }
    assert sources == {
        "BATCH_SIZE": str(file),
        "FETCH_WORKERS": "environment",
        "LEASE_SECONDS": "default",
        "MIN_INTERVAL_MINUTES": "profile polite",
        "MAX_INTERVAL_MINUTES": "environment",
    }
    assert rows["BATCH_SIZE"]["value"] == 7


def test_every_setting_is_listed_and_described() -> None:
    rows = described()
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    assert all(row["description"] for row in rows.values())


def test_a_demo_that_was_killed_leaves_no_settings_behind(tmp_path: Path) -> None:
    demo_file(tmp_path).write_text(f"{PREFIX}ALLOW_PRIVATE_NETWORKS=true\n")
    environ = {f"{PREFIX}HOME": str(tmp_path)}
    assert load_settings(environ, dotenv=None).allow_private_networks is False

    with up_lock(tmp_path).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert load_settings(environ, dotenv=None).allow_private_networks is True
        assert load_settings(environ | {f"{PREFIX}ALLOW_PRIVATE_NETWORKS": "false"}, dotenv=None).allow_private_networks is False


def test_an_unknown_analyzer_is_refused_with_those_there_are() -> None:
    assert "there is no such analyzer; there are none, mock, openai" in refusal(ANALYZER="magic")


@pytest.mark.parametrize("key", ["sk-hunter2 with a space", "sk-hunter2\nX-Other: 1", "sk-hunter2-ü"])
def test_a_key_that_fits_into_no_header_is_refused_and_not_repeated(key: str) -> None:
    message = refusal(OPENAI_API_KEY=key)
    assert "OPENAI_API_KEY" in message and "hunter2" not in message


def test_a_key_is_masked_wherever_settings_are_shown() -> None:
    settings = load(OPENAI_API_KEY="sk-hunter2")
    assert settings.openai_api_key.get_secret_value() == "sk-hunter2"
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert described(OPENAI_API_KEY="sk-hunter2")["OPENAI_API_KEY"]["value"] == "***"
    assert described()["OPENAI_API_KEY"]["value"] == ""


def test_a_token_that_is_too_short_is_not_repeated() -> None:
    assert "hunter2" not in refusal(API_TOKEN="hunter2")
