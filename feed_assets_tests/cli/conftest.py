"""A command line with a home of its own, copied from one that was set up once: a fresh one costs more than most commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import Store, connect, open_store
from feed_assets_tests.conftest import ENGINES, make_settings
from feed_assets_tests.support.command_line import Ran, Run, run_here
from feed_assets_tests.support.databases import drop_postgres_database, migrated_postgres, new_database, new_postgres_database

LOOPBACK = {"ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "0", "REQUEST_TIMEOUT_SECONDS": "2", "JOB_TIMEOUT_SECONDS": "4"}


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command in this process, with a home that is not there yet; keyword arguments are settings."""

    def run(*arguments: str, **variables: str) -> Ran:
        return run_here(capsys, arguments, {"HOME": str(tmp_path / "home"), **LOOPBACK, **variables})

    return run


@pytest.fixture(params=ENGINES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database on each engine with all tables and no rows; the DuckDB file is where HOME has it."""
    (tmp_path / "home").mkdir()
    url = new_database(request.param, tmp_path / "home")
    yield url
    if request.param == "postgres":
        drop_postgres_database(url)


@pytest.fixture
def both(bare: Run, empty_url: str) -> Run:
    """Run a command on each engine, with an empty catalog."""

    def run(*arguments: str, **variables: str) -> Ran:
        return bare(*arguments, **{"DATABASE_URL": empty_url} | variables)

    return run


@pytest.fixture
def stored(empty_url: str) -> Iterator[Store]:
    """The database of `both`."""
    store = connect(empty_url)
    yield store
    store.close()


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The same, on Postgres only."""
    url = new_postgres_database(migrated_postgres())
    yield url
    drop_postgres_database(url)


@pytest.fixture
def run(bare: Run, empty_home: Path, tmp_path: Path) -> Run:
    """The same, with an empty catalog."""
    shutil.copytree(empty_home, tmp_path / "home")
    return bare


@pytest.fixture
def news(bare: Run, news_home: Path, tmp_path: Path) -> Run:
    """The same, with a feed `news` in the catalog."""
    shutil.copytree(news_home, tmp_path / "home")
    return bare


@pytest.fixture
def ready(run: Run, dagster_home: Path, tmp_path: Path) -> Run:
    """The same, with an empty catalog and Dagster's tables."""
    shutil.copytree(dagster_home, tmp_path / "home" / "dagster")
    return run


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("empty")
    open_store(f"duckdb:///{home / 'feeds.duckdb'}").close()
    return home


@pytest.fixture(scope="session")
def news_home(empty_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("news")
    shutil.copytree(empty_home, home, dirs_exist_ok=True)
    store = open_store(f"duckdb:///{home / 'feeds.duckdb'}")
    catalog.add_feed(store, "https://news.example/feed", now=utc_now(), feed_id="news")
    return home


@pytest.fixture(scope="session")
def dagster_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from feed_assets.defs.instance import prepare_dagster_home

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")
        return prepare_dagster_home(make_settings(tmp_path_factory.mktemp("dagster")))
