"""Write docs/reference/ from the code: settings, commands, HTTP API, metrics, assets and tables. `make docs` runs it; a test checks it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from feed_assets.api.app import create_app
from feed_assets.api.metrics import MEASURED, collect
from feed_assets.api.shelf import Shelf
from feed_assets.api.watch import Watcher
from feed_assets.cli.main import app
from feed_assets.decide.health import CHECKS
from feed_assets.defs.schemas import ANALYSIS, ASSETS, STORIES
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX, Settings, describe_settings
from feed_assets.store import connect, open_store

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTICE = "<!-- Written by `make docs` from the code. Edit the descriptions there. -->\n"


def pages() -> dict[str, str]:
    """File name -> text."""
    return {
        "settings.md": settings_page(),
        "commands.md": commands_page(),
        "http-api.md": api_page(),
        "metrics.md": metrics_page(),
        "assets.md": assets_page(),
    }


def settings_page() -> str:
    lines = [
        NOTICE,
        "# Settings\n",
        f"Environment variables with the prefix `{PREFIX}`, or lines of a `.env` file in the working directory; the environment wins.",
        "`feed-assets config` prints every setting with its value and where that came from. An unknown name is an error, never ignored.\n",
        "| setting | default | what it does |",
        "|---|---|---|",
    ]
    for row in describe_settings({}, dotenv=None):
        default = {"DATABASE_URL": "duckdb:///HOME/feeds.duckdb"}.get(row["setting"], row["value"])
        shown = f"`{str(default).lower() if isinstance(default, bool) else default}`" if default != "" else "(empty)"
        lines.append(f"| `{PREFIX}{row['setting']}` | {shown} | {_cell(row['description'])} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    lines = [
        NOTICE,
        "# Commands\n",
        "Exit codes: 0 done; 1 the operation failed, with a one-line reason on standard error; 2 bad usage.",
        "Every command takes `--help`. `--json` prints JSON and nothing else on standard output.\n",
    ]
    for name, command in _commands("feed-assets", typer.main.get_command(app)):
        context = command.make_context(name, [], resilient_parsing=True)
        lines += [f"## `{' '.join([name, *command.collect_usage_pieces(context)])}`\n", (command.help or "").strip(), ""]
        rows = [record for param in command.params if (record := _option(param, context))]
        if rows:
            lines += ["| | |", "|---|---|", *rows, ""]
        if epilog := (command.epilog or "").strip():
            lines += [f"Example: `{epilog.removeprefix('Example: ')}`\n"]
    return "\n".join(lines)


def api_page() -> str:
    settings = Settings.model_validate({"api_token": "of no use elsewhere"})
    schema = create_app(settings, connect("duckdb:///unused.duckdb")).openapi()
    lines = [
        NOTICE,
        "# HTTP API\n",
        "On `API_HOST:API_PORT` (default `127.0.0.1:8080`). Errors are problem JSON (RFC 9457). The page at `/docs` lets one try it;",
        "[Serving](../serving.md) shows what answers look like. `POST` is there when `API_TOKEN` is set.\n",
    ]
    operations = [(f"{method.upper()} {path}", it) for path, methods in schema["paths"].items() for method, it in methods.items()]
    for name, operation in operations:
        lines += [f"## `{name}`\n", operation.get("description", "").strip(), ""]
        lines += [
            f"- `{p['name']}` ({'required' if p.get('required') else 'optional'}) {p.get('description', '')}".rstrip()
            for p in operation.get("parameters", ())
        ]
        lines += [f"- {status}: {answer['description']}" for status, answer in sorted(operation["responses"].items()) if status != "422"]
        lines.append("")
    return "\n".join(lines)


def metrics_page() -> str:
    """The metrics of an empty database, to which somebody has written what only a running system measures."""
    lines = [
        NOTICE,
        "# Metrics\n",
        "`GET /metrics` in Prometheus' text format, worked out from the tables when asked for. Every counter outlives restarts.",
        "[deploy/prometheus](../../deploy/prometheus/rules.yml) has alert rules, [deploy/grafana](../../deploy/grafana/feed_assets.json) a",
        "dashboard.\n",
        "| metric | type | labels | |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"duckdb:///{folder}/feeds.duckdb")
        with store.begin() as tx:
            for name in MEASURED:
                tx.numbers.signal(name, at=utc_now(), value=0)
        for family in collect(store, Settings.model_validate({}), Watcher(store, Shelf(1))):
            name = family.name + {"counter": "_total", "info": "_info"}.get(family.type, "")
            labels = getattr(family, "_labelnames", None) or ("version",) * (family.type == "info")
            lines.append(f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in labels)} | {_cell(family.documentation)} |")
    return "\n".join(lines) + "\n"


def assets_page() -> str:
    lines = [NOTICE, "# Assets and their tables\n"]
    lines += ["Each asset is partitioned by `feeds`, and a partition's key is the feed's id; only `headline_groups` is about all feeds.\n"]
    for asset in (*ASSETS, ANALYSIS, STORIES):
        lines += [f"## `{asset.name}`\n", asset.description, ""]
        lines += ["| column | type | |", "|---|---|---|", *(f"| `{name}` | {kind} | {text} |" for name, kind, text in asset.columns), ""]
        checks = [check for check in CHECKS if check.asset == asset.name]
        lines += [f"- check `{check.name}`: {check.description}" for check in checks] + ([""] if checks else [])
    return "\n".join(lines)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Commands by their full names; groups are only a way to them."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    for each in sorted(inner or ()):
        yield from _commands(f"{name} {each}", inner[each])


def _option(param: Any, context: Any) -> str | None:
    record = param.get_help_record(context)
    if record is None or "--help" in param.opts:
        return None
    return f"| `{_cell(record[0].strip())}` | {_cell(record[1])} |"


def _cell(text: Any) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    print(json.dumps(sorted(pages())))
