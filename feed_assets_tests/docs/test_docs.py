"""The docs say what the code does: the reference is current, links lead somewhere, the containers use settings that exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from feed_assets.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def reference_writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "scripts" / "write_reference.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_make_docs_would_write() -> None:
    for name, text in reference_writer().pages().items():
        assert (ROOT / "docs" / "reference" / name).read_text("utf-8") == text, f"{name} is out of date; run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_that_are_named_exist(page: Path) -> None:
    known = {name.upper() for name in Settings.model_fields} | {"TEST_POSTGRES_URL", "BATCHSIZE"}  # the last: a typing mistake, shown
    for name in re.findall(rf"{PREFIX}([A-Z_]+)", page.read_text("utf-8")):
        assert name.strip("_") in known or not name.strip("_"), f"{page.name} names {PREFIX}{name}"


def compose() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))


def test_the_containers_use_settings_that_exist() -> None:
    others = {"DAGSTER_HOME", "CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"}  # which Dagster and Celery read
    for name in compose()["x-settings"].keys() - others:
        assert name.removeprefix(PREFIX).lower() in Settings.model_fields


def test_dagster_in_containers_differs_from_the_one_beside_the_project_in_its_storage_only() -> None:
    plain = yaml.safe_load((ROOT / "dagster.yaml").read_text("utf-8"))
    contained = yaml.safe_load((ROOT / "deploy" / "dagster.yaml").read_text("utf-8"))

    storage = contained.pop("storage")
    assert storage == {"postgres": {"postgres_url": {"env": "FEED_ASSETS_DAGSTER_DATABASE_URL"}}}
    assert contained == plain


def metrics() -> set[str]:
    """The names of the samples that /metrics gives."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", reference_writer().metrics_page(), re.MULTILINE)
    return {f"{name}{end}" for name, kind in rows for end in (("_bucket", "_count", "_sum") if kind == "histogram" else ("",))}


def test_dashboard_and_alerts_ask_for_metrics_that_exist() -> None:
    board = json.loads((ROOT / "deploy" / "grafana" / "feed_assets.json").read_text("utf-8"))
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    named = {name for expression in asked for name in re.findall(r"feed_assets_\w+", expression)}
    assert len(named) > 12 and named - metrics() == set()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here")
def test_prometheus_understands_the_alerts() -> None:
    checked = subprocess.run(["promtool", "check", "config", ROOT / "deploy" / "prometheus" / "prometheus.yml"], capture_output=True)
    assert checked.returncode == 0, checked.stderr
