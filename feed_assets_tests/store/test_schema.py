"""The tables: what the contract names exists on both engines, and both engines have the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from feed_assets.store import Store, connect
from feed_assets.store.columns import kind
from feed_assets_tests.store.contract import NULLABLE, PRIMARY_KEYS, TABLES

KINDS = {
    "VARCHAR": "text",
    "TEXT": "text",
    "JSON": "json",
    "JSONB": "json",
    "INTEGER": "integer",
    "BIGINT": "integer",
    "DOUBLE": "float",
    "DOUBLE PRECISION": "float",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "time",
    "BLOB": "blob",
    "BYTEA": "blob",
}


def ask(store: Store, question: str) -> list[tuple[Any, ...]]:
    with store.engine.begin() as connection:
        found = connection._raw.execute(question).fetchall()  # type: ignore[attr-defined]
    return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in found]


def schema(store: Store) -> dict[str, dict[str, tuple[str, bool]]]:
    """table -> column, in order -> (kind of value, may be NULL)."""
    columns = ask(
        store,
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position",
    )
    tables: dict[str, dict[str, tuple[str, bool]]] = {}
    for table, column, data_type, nullable in columns:
        tables.setdefault(table, {})[column] = (KINDS[data_type.upper()], nullable == "YES")
    return tables


def primary_keys(store: Store) -> dict[str, set[str]]:
    keys: dict[str, set[str]] = {}
    for table, column in ask(
        store,
        "SELECT k.table_name, k.column_name FROM information_schema.key_column_usage k "
        "JOIN information_schema.table_constraints c ON c.constraint_name = k.constraint_name AND c.table_name = k.table_name "
        "WHERE c.constraint_type = 'PRIMARY KEY' AND k.table_schema = current_schema()",
    ):
        keys.setdefault(table, set()).add(column)
    return keys


def test_every_table_and_column_of_the_contract_exists(store: Store) -> None:
    found = schema(store)
    assert [f"{table}.{column}" for table, columns in TABLES.items() for column in columns if column not in found.get(table, {})] == []


def test_the_primary_keys_are_those_of_the_contract(store: Store) -> None:
    found = primary_keys(store)
    assert {table: found.get(table) for table in PRIMARY_KEYS} == PRIMARY_KEYS


def test_the_columns_that_the_contract_calls_null_may_be_null(store: Store) -> None:
    tables = schema(store)
    assert [(table, column) for table, columns in NULLABLE.items() for column in columns if not tables[table][column][1]] == []


def test_each_column_has_the_type_that_rows_are_staged_with(store: Store) -> None:
    wrong = {
        f"{table}.{column}": (kind(column), stored)
        for table, columns in schema(store).items()
        for column, (stored, _) in columns.items()
        if table != "schema_migrations" and kind(column) != stored
    }
    assert wrong == {}


def test_both_engines_have_the_same_tables_columns_and_keys(migrated_duckdb: Path, migrated_postgres: str) -> None:
    duckdb, postgres = connect(f"duckdb:///{migrated_duckdb}"), connect(migrated_postgres)
    tables, others = schema(duckdb), schema(postgres)
    assert tables == others
    assert {name: list(columns) for name, columns in tables.items()} == {name: list(columns) for name, columns in others.items()}
    assert primary_keys(duckdb) == primary_keys(postgres)
    postgres.close()
