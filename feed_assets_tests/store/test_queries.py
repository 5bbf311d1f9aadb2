"""The named queries of sql/: each is used, each is there on both engines, and the loader reads them right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import feed_assets.store
from feed_assets.store.queries import load_queries, sql_folder

ENGINES = ("duckdb", "postgres")
SHARED = sorted(f"queries/{path.name}" for path in (sql_folder() / "queries").glob("*.sql"))
FILES = (*SHARED, "duckdb/queries.sql", "postgres/queries.sql")
STORE = Path(feed_assets.store.__file__).parent
CODE = "\n".join(path.read_text("utf-8") for path in sorted(STORE.glob("*.py")))


def queries_in(file: str) -> list[tuple[str, str]]:
    pieces = re.split(r"(?m)^-- name: (\w+)\s*$", (sql_folder() / file).read_text("utf-8"))
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def common() -> list[tuple[str, str]]:
    return [query for file in SHARED for query in queries_in(file)]


def names_in(file: str) -> list[str]:
    return [name for name, _ in queries_in(file)]


def parameters(statement: str) -> set[str]:
    return set(re.findall(r"(?<![:\w]):(\w+)", statement))


def test_every_query_is_used_by_the_store() -> None:
    assert [name for file in FILES for name in names_in(file) if f'"{name}"' not in CODE] == []


def test_every_query_that_the_store_asks_for_exists() -> None:
    asked = set(re.findall(r"\.(?:rows|run|write|_delete)\(\s*\"(\w+)\"", CODE))
    assert len(asked) > 30
    assert asked - set(dict(common())) == set()


def test_what_a_query_builds_on_exists_and_is_put_in_its_place() -> None:
    built_on = {name for _, text in common() for name in re.findall(r"[\s(]@(\w+)", text)}
    assert built_on and built_on - set(dict(common())) == set()
    for engine in ENGINES:
        assert not [name for name, text in load_queries(engine, "<{}>").items() if "@" in text]


def test_no_name_is_given_twice() -> None:
    names = [name for name, _ in common()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("file", SHARED)
def test_queries_stand_in_the_file_of_the_module_that_uses_them(file: str) -> None:
    module = (STORE / Path(file).name).with_suffix(".py").read_text("utf-8")
    assert [name for name in names_in(file) if f'"{name}"' not in module] == []


def test_both_engines_have_the_same_queries() -> None:
    duckdb, postgres = (set(load_queries(engine, "<{}>")) for engine in ENGINES)
    assert duckdb == postgres


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_overrides_only_queries_that_exist_and_with_the_same_parameters(engine: str) -> None:
    shared = dict(common())
    for name, text in queries_in(f"{engine}/queries.sql"):
        assert name in shared
        assert parameters(text) == parameters(shared[name])


def test_parameters_are_spelled_as_the_driver_wants_them() -> None:
    assert load_queries("duckdb", "${}")["get_feed"] == "SELECT * FROM feeds WHERE feed_id = $feed_id"
    assert load_queries("postgres", "%({})s")["get_feed"] == "SELECT * FROM feeds WHERE feed_id = %(feed_id)s"


@pytest.mark.parametrize("engine", ENGINES)
def test_queries_are_single_statements_without_comments(engine: str) -> None:
    assert [name for name, text in load_queries(engine, "<{}>").items() if not text or ";" in text or "--" in text] == []
