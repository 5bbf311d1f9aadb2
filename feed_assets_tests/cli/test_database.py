"""`feed-assets db prune` and `db vacuum`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets.words import size
from feed_assets_tests.store.builders import make_history, make_result
from feed_assets_tests.support.command_line import Run
from feed_assets_tests.support.refreshing import counts


@pytest.fixture
def old(store: Store) -> None:
    """Things that are past their retention."""
    with store.begin() as tx:
        tx.items.save_history([make_history(f"f{n}", at=utc_now() - timedelta(days=99)) for n in range(3)])
        tx.items.save_bodies([(f"f{n}", "sha", make_result(at=utc_now() - timedelta(days=99 + n))) for n in range(2)])


@pytest.mark.usefixtures("old")
def test_a_dry_run_says_what_would_go_and_deletes_nothing(bare: Run, store: Store, settings: Settings) -> None:
    before = counts(store)
    said = bare("db", "prune", "--dry-run", DATABASE_URL=settings.database_url)
    assert (said.code, counts(store)) == (0, before)
    assert [line.split()[:2] for line in said.out.splitlines()[1:]] == [["raw_fetches", "1"], ["fetch_history", "3"]]
    assert "would be deleted" in said.out

    found = bare("db", "prune", "--dry-run", "--json", DATABASE_URL=settings.database_url).json()
    assert {row["table"]: (row["rows"], row["deleted"]) for row in found} == {"raw_fetches": (1, False), "fetch_history": (3, False)}
    assert found[0]["bytes"] > 0


@pytest.mark.usefixtures("old")
def test_pruning_deletes_what_the_dry_run_said_once(bare: Run, store: Store, settings: Settings) -> None:
    foretold = bare("db", "prune", "--dry-run", "--json", DATABASE_URL=settings.database_url).json()
    gone = bare("db", "prune", "--json", DATABASE_URL=settings.database_url).json()
    assert gone == [row | {"deleted": True} for row in foretold]
    assert (counts(store)["raw_fetches"], counts(store)["fetch_history"]) == (1, 0)
    assert bare("db", "prune", DATABASE_URL=settings.database_url).out == "nothing is past its retention\n"


def test_vacuum_says_how_large_the_database_was_and_is(bare: Run, store: Store, settings: Settings) -> None:
    sizes = bare("db", "vacuum", "--json", DATABASE_URL=settings.database_url).json()
    assert 0 < sizes["bytes_after"] <= sizes["bytes_before"] * 1.1
    said = bare("db", "vacuum", DATABASE_URL=settings.database_url).out
    assert said == f"{said.split(' before, ')[0]} before, {size(store.size())} after\n"


def test_a_database_that_cannot_be_opened_is_an_error_in_one_line(bare: Run) -> None:
    said = bare("db", "prune", DATABASE_URL="duckdb:////proc/nothing/here.duckdb")
    assert (said.code, said.out, len(said.err.splitlines())) == (1, "", 1)


@pytest.mark.parametrize(("count", "said"), [(None, "-"), (0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (5_600_000_000, "5.6 GB")])
def test_sizes_are_said_in_words(count: int | None, said: str) -> None:
    assert size(count) == said
