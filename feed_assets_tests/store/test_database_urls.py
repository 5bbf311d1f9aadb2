"""Which database a DATABASE_URL means."""

from __future__ import annotations

from pathlib import Path

import pytest

from feed_assets.errors import SettingsError
from feed_assets.store import connect
from feed_assets.store.duckdb import DuckDBEngine
from feed_assets.store.postgres import PostgresEngine
from feed_assets_tests.conftest import make_settings


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("duckdb:///feeds.duckdb", "feeds.duckdb"),
        ("duckdb:///data/feeds.duckdb", "data/feeds.duckdb"),
        ("duckdb:////data/feeds.duckdb", "/data/feeds.duckdb"),
        ("duckdb:////data/my%20feeds.duckdb", "/data/my feeds.duckdb"),
    ],
)
def test_three_slashes_are_a_relative_and_four_an_absolute_path(url: str, path: str) -> None:
    engine = connect(url).engine
    assert isinstance(engine, DuckDBEngine)
    assert engine.path == Path(path)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_both_spellings_of_postgres_are_understood(scheme: str) -> None:
    assert isinstance(connect(f"{scheme}://ann@127.0.0.1/feeds").engine, PostgresEngine)


@pytest.mark.parametrize("url", ["duckdb://", "duckdb:///", "sqlite:///feeds.db", "mysql://ann:secret@127.0.0.1/feeds", "feeds.duckdb", ""])
def test_other_urls_are_refused_in_one_line_without_the_password(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        connect(url)
    assert len(str(refused.value).splitlines()) == 1
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["plain", "with blanks", "ünïcode", "c#", "what?", "50%20off"])
def test_the_default_database_lies_in_home_whatever_home_is_called(tmp_path: Path, name: str) -> None:
    engine = connect(make_settings(tmp_path / name).store_url).engine
    assert isinstance(engine, DuckDBEngine)
    assert engine.path == tmp_path / name / "feeds.duckdb"
