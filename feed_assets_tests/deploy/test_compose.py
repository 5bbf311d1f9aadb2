"""The containers: what they run works together; what they are made of and told exists."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import requests

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import open_store
from feed_assets_tests.support.containers import ROOT, compose_file, copied_into_the_image, services
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.processes import until


def answers(command: list[str]) -> bool:
    try:
        return subprocess.run([*command, "version"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


COMPOSE = next((words for words in (["docker", "compose"], ["docker-compose"]) if answers(words)), [])
QUICK = {"ALLOW_PRIVATE_NETWORKS": "true", "SENSOR_INTERVAL_SECONDS": "1"}


def test_a_feed_goes_through_what_the_containers_run(tmp_path: Path, server: FeedServer) -> None:
    with services(tmp_path, **QUICK) as they:
        assert "applied 001_initial" in they.run("migrate")
        for name in ("code", "api"):
            they.start(name)
        they.await_healthy("code", "api")
        for name in ("daemon", "webserver"):
            they.start(name)
        store = open_store(they.settings.store_url)
        catalog.add_feed(store, server.publish("/news", rss("A story")), now=utc_now(), feed_id="news")
        served = until(lambda: (got := requests.get(f"http://127.0.0.1:{they.ports['8080']}/rss/news", timeout=5)).ok and got, 180)
        assert b"A story" in served.content
        they.await_healthy("webserver", "daemon")
        query = '{assetNodeOrError(assetKey: {path: ["cached_feed_xml"]}) {... on AssetNode {partitionStats {numMaterialized}}}}'

        def materialized() -> int:
            answer = requests.post(f"http://127.0.0.1:{they.ports['3000']}/graphql", json={"query": query}, timeout=30).json()
            return int(answer["data"]["assetNodeOrError"]["partitionStats"]["numMaterialized"])

        until(lambda: materialized() == 1, 60)
        store.close()


@pytest.mark.skipif(not COMPOSE, reason="NOT TESTED: there is no docker compose here")
def test_docker_understands_the_file() -> None:
    command = [*COMPOSE, "--project-directory", str(ROOT), "-f", str(ROOT / "docker-compose.yml"), "config", "--services"]
    checked = subprocess.run(command, env=dict(os.environ) | {"COMPOSE_PROFILES": "celery,monitoring"}, capture_output=True, text=True)

    assert checked.returncode == 0 and set(checked.stdout.split()) == compose_file()["services"].keys(), checked.stderr


def test_every_service_waits_for_the_migrations_or_is_somebody_elses() -> None:
    for name, service in compose_file()["services"].items():
        waits_for = service.get("depends_on", {})
        assert "migrate" in waits_for or service["image"] != "feed_assets" or name == "migrate"
        assert waits_for.keys() <= compose_file()["services"].keys()


def test_what_is_not_asked_for_is_not_started() -> None:
    optional = {name: service["profiles"] for name, service in compose_file()["services"].items() if "profiles" in service}

    assert optional == {"worker": ["celery"], "redis": ["celery"], "prometheus": ["monitoring"], "grafana": ["monitoring"]}


def test_every_port_is_open_to_this_machine_only() -> None:
    ports = [port for service in compose_file()["services"].values() for port in service.get("ports", [])]

    assert len(ports) == 3 and all(port.startswith("127.0.0.1:") for port in ports)


def test_every_file_that_a_container_mounts_exists() -> None:
    mounted = [volume.split(":")[0] for service in compose_file()["services"].values() for volume in service.get("volumes", [])]

    for source in mounted:
        assert (ROOT / source).exists() if source.startswith(".") else source in compose_file()["volumes"], source


def test_every_home_that_runs_can_choose_is_in_the_image() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    chosen = {"here", *re.findall(r"^#.*\bRUNS=(\w+)", text, re.MULTILINE)}

    assert {f"/opt/dagster/{name}/dagster.yaml" for name in chosen} < copied_into_the_image().keys() and len(chosen) == 2


def test_the_image_is_made_of_files_that_docker_is_given() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()

    for source in copied_into_the_image().values():
        assert (ROOT / source).exists(), source
        assert not any(source == each or source.startswith(f"{each}/") for each in ignored), f"{source} is in .dockerignore"


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    stage = (ROOT / "Dockerfile").read_text("utf-8").rpartition("\nFROM ")[2]

    assert re.search(r"^USER [1-9]\d*$", stage, re.MULTILINE), "a number, which Kubernetes can check"
    assert "HEALTHCHECK" in stage and "/health/live" in stage
