"""Who takes part in `benchmarks/throughput.py`: how each is told of the feeds, and the command that refreshes them once.

python -m benchmarks.contenders bare|reader FOLDER      refresh the feeds that are listed in FOLDER/urls
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import dagster as dg
import yaml
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._grpc.types import ExecuteRunArgs

from benchmarks.peers import WORKERS
from feed_assets import catalog
from feed_assets.defs import build_definitions
from feed_assets.defs.jobs import batch_config, refresh_feeds
from feed_assets.defs.partitions import feeds_partitions
from feed_assets.defs.resources import Pipeline
from feed_assets.refresh import claim, utc_now
from feed_assets.settings import PREFIX, load_settings
from feed_assets.store import open_store
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database


class FeedAssets:
    """Through the real job, in the process that Dagster's launcher would start for a batch."""

    def __init__(self, engine: str, urls: Sequence[str], folder: Path, batch_size: int) -> None:
        self.name = f"feed_assets, {engine}"
        self._databases: list[str] = []
        self.claim_seconds = 0.0
        values = {"HOME": str(folder), "ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "0", "BATCH_SIZE": str(batch_size)}
        values |= {"FETCH_WORKERS": str(WORKERS), "LOG_LEVEL": "ERROR", "MAX_BATCHES_IN_FLIGHT": "1"}
        if engine == "postgres":
            self._databases = [new_postgres_database(), new_postgres_database()]
            values |= {"DATABASE_URL": self._databases[0], "DAGSTER_DATABASE_URL": self._databases[1]}
        self.variables = {PREFIX + name: value for name, value in values.items()}
        self._settings = load_settings(self.variables, dotenv=None)
        self._store = open_store(self._settings.store_url)
        document = yaml.safe_load(Path("dagster.yaml").read_text())
        if engine == "postgres":
            document["storage"] = {"postgres": {"postgres_url": self._databases[1]}}
        (folder / "dagster.yaml").write_text(yaml.safe_dump(document))
        self.variables["DAGSTER_HOME"] = str(folder)
        self._exits = ExitStack()
        self._instance = self._exits.enter_context(dg.DagsterInstance.from_config(str(folder)))
        rows = [{"id": f"feed-{number:06}", "url": url} for number, url in enumerate(urls)]
        for start in range(0, len(rows), 20_000):
            part = rows[start : start + 20_000]
            catalog.import_feeds(self._store, part, now=utc_now())
            self._instance.add_dynamic_partitions(feeds_partitions.name, [row["id"] for row in part])
        self._job = build_definitions(Pipeline(self._settings)).resolve_job_def(refresh_feeds.name)
        self._feed_ids = [row["id"] for row in rows]

    def round(self) -> tuple[list[list[str]], dict[str, str]]:
        """The sensor claims; a launcher starts a process per batch."""
        before = time.process_time()
        size = self._settings.batch_size
        tokens = [
            claim(self._store, self._settings, self._feed_ids[at : at + size], utc_now, 0) for at in range(0, len(self._feed_ids), size)
        ]
        self.claim_seconds = time.process_time() - before
        return [self.command(token) for token in tokens], self.variables

    def command(self, token: str) -> list[str]:
        """A run as the sensor requests it, and the command that Dagster's launcher starts for it."""
        module = ReconstructableRepository.for_module("feed_assets.definitions", "defs")
        origin = module.get_reconstructable_job(refresh_feeds.name).get_python_origin()
        run = self._instance.create_run_for_job(self._job, run_config=batch_config(batch_id=token), job_code_origin=origin)
        arguments = ExecuteRunArgs(job_origin=origin, run_id=run.run_id, instance_ref=self._instance.get_ref())
        return [sys.executable, "-m", *arguments.get_command_args()]

    def stored(self) -> int:
        with self._store.read() as tx:
            return int(tx.numbers.stored(utc_now())["articles"])

    def events(self) -> int:
        storage = self._instance.event_log_storage
        return len(storage.get_event_records(dg.EventRecordsFilter(dg.DagsterEventType.ASSET_MATERIALIZATION)))

    def close(self) -> None:
        self._exits.close()
        self._store.close()
        for url in self._databases:
            drop_postgres_database(url)
