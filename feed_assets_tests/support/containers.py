"""The services of docker-compose.yml as processes on loopback: the same commands, environment, files and health checks.

Only names change: hosts become 127.0.0.1, ports free ones, folders of the image folders of the test.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from feed_assets.settings import Settings, load_settings
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database
from feed_assets_tests.support.processes import free_port

ROOT = Path(__file__).resolve().parents[2]
_IMAGE_FOLDER = "/opt/dagster"
_PORTS = ("3000", "4000", "6379", "8080")


def compose_file(**variables: str) -> dict[str, Any]:
    """docker-compose.yml with its ${NAME:-default} filled in."""
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    return dict(yaml.safe_load(re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1], found[2]), text)))


def copied_into_the_image() -> dict[str, str]:
    """Where the Dockerfile puts files of this checkout: target -> source."""
    lines = [line.split()[1:] for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if line.startswith("COPY ")]
    return {target: source for *sources, target in lines for source in sources if not source.startswith(("--", "/"))}


class Services:
    """What `docker compose up` would start, one by one; `runs` is the variable RUNS."""

    def __init__(self, folder: Path, runs: str = "here", **settings: str) -> None:
        self.folder, self.settings_given = folder, settings
        self.services: dict[str, Any] = compose_file(RUNS=runs)["services"]
        self.databases = [new_postgres_database(), new_postgres_database()]
        self.ports = {port: str(free_port()) for port in _PORTS}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "home").mkdir()
        for target, source in copied_into_the_image().items():
            if target.startswith(_IMAGE_FOLDER):
                place = Path(self._renamed(target))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(self._renamed((ROOT / source).read_text("utf-8")))

    def environment(self, service: str) -> dict[str, str]:
        """As in the container, but for the databases."""
        given = {name: self._renamed(value) for name, value in self.services[service].get("environment", {}).items()}
        given |= {"FEED_ASSETS_DATABASE_URL": self.databases[0], "FEED_ASSETS_DAGSTER_DATABASE_URL": self.databases[1]}
        given |= {f"FEED_ASSETS_{name}": value for name, value in self.settings_given.items()}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        python = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        return dict(os.environ) | given | {"PATH": path, "PYTHONPATH": python, "FEED_ASSETS_HOME": str(self.folder / "home")}

    @cached_property
    def settings(self) -> Settings:
        ours = {name: value for name, value in self.environment("api").items() if name.startswith("FEED_ASSETS_")}
        return load_settings({name: value for name, value in ours.items() if "TEST_" not in name}, dotenv=None)

    def command(self, service: str) -> list[str]:
        return [self._renamed(word) for word in shlex.split(self.services[service]["command"])]

    def run(self, service: str) -> str:
        """One that ends by itself; what it said."""
        done = self._call(self.command(service), service, 180)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def start(self, service: str, *more: str, name: str = "") -> subprocess.Popen[bytes]:
        """One that stays; `name` tells several of a kind apart."""
        with self.log(name or service).open("wb") as log:
            process = subprocess.Popen(
                [*self.command(service), *more],
                env=self.environment(service),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[name or service] = process
        return process

    def await_healthy(self, *services: str, seconds: float = 180) -> None:
        """Until the health checks of these say so."""
        deadline = time.monotonic() + seconds
        for service in services:
            test = [self._renamed(word) for word in self.services[service]["healthcheck"]["test"][1:]]
            while (checked := self._call(test, service, 60)).returncode:
                alive = self.running[service].poll() is None
                assert alive and time.monotonic() < deadline, f"{service}: {checked.stdout}\n{self.log(service).read_text()[-3000:]}"
                time.sleep(0.3)

    def kill(self, name: str) -> None:
        """As when its machine loses power: the process and all that it started."""
        process = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def close(self) -> None:
        for process in self.running.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.5)
        for name in list(self.running):
            self.kill(name)
        for url in self.databases:
            drop_postgres_database(url)

    def _call(self, command: Sequence[str], service: str, seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=self.environment(service),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
        )

    def _renamed(self, text: str) -> str:
        """Names of the containers' world in those of this machine."""
        text = text.replace(_IMAGE_FOLDER, str(self.folder / "image")).replace("0.0.0.0", "127.0.0.1")
        text = re.sub(r"host: code\b", "host: 127.0.0.1", text).replace("redis://redis:", "redis://127.0.0.1:")
        return re.sub(r"\b(?:" + "|".join(self.ports) + r")\b", lambda found: self.ports[found[0]], text)


@contextmanager
def services(folder: Path, runs: str = "here", **settings: str) -> Iterator[Services]:
    made = Services(folder, runs, **settings)
    try:
        yield made
    finally:
        made.close()
