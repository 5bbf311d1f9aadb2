"""Many machines: runs shared by Celery workers through Redis, each in a process of its own, and a worker that dies in the middle."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from feed_assets import catalog
from feed_assets.defs.recovery import recover
from feed_assets.defs.resources import Pipeline
from feed_assets.holding import DEAD_AFTER
from feed_assets.refresh import utc_now
from feed_assets.store import Store, open_store
from feed_assets_tests.support.containers import Services, services
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.processes import until
from feed_assets_tests.support.rows import look

pytest.importorskip("dagster_celery", reason="NOT TESTED: Celery is not installed; pip install 'feed-assets[celery]'")
pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="NOT TESTED: there is no redis-server; scripts/get-redis")

WORKERS = ("worker-1", "worker-2")
QUICK = [f"quick-{number}" for number in range(5)]
SETTINGS = {
    "ALLOW_PRIVATE_NETWORKS": "true",
    "DOMAIN_DELAY_SECONDS": "0",
    "SENSOR_INTERVAL_SECONDS": "1",
    "BATCH_SIZE": "2",
    "MAX_BATCHES_IN_FLIGHT": "4",
    "REQUEST_TIMEOUT_SECONDS": "300",  # a slow machine must not give up on the slow publisher
    "JOB_TIMEOUT_SECONDS": "300",
}


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """Code location, daemon, broker and two machines with a worker each."""
    with services(tmp_path, "celery", **SETTINGS) as they:
        they.start("redis", "--port", they.ports["6379"], "--bind", "127.0.0.1", "--dir", str(tmp_path))
        for name in WORKERS:
            they.start("worker", "--concurrency", "1", "--hostname", f"{name}@%h", name=name)
        they.run("migrate")
        they.start("code")
        for name, value in they.environment("daemon").items():
            if name.startswith(("CELERY_", "FEED_ASSETS_DAGSTER_", "DAGSTER_HOME")):
                monkeypatch.setenv(name, value)
        they.await_healthy("code")
        for name in WORKERS:
            until(lambda name=name: " ready." in they.log(name).read_text(), 180)  # type: ignore[misc]
        yield they


def test_two_workers_share_the_runs_and_what_one_takes_to_its_grave_comes_back(fleet: Services, server: FeedServer) -> None:
    store = open_store(fleet.settings.store_url)
    released = threading.Event()
    urls = {name: server.publish(f"/{name}", rss(f"Story of {name}")) for name in [*QUICK, "slow"]}
    urls["slow"] = urls["slow"].replace("127.0.0.1", "localhost")  # a host of its own: no other feed waits for its turn
    server.answers["/slow"].then = lambda: released.wait(280)  # a publisher that keeps one waiting
    catalog.import_feeds(store, [{"id": name, "url": url} for name, url in urls.items()], now=utc_now())
    fleet.start("daemon")
    with dg.DagsterInstance.get() as instance:
        # Three batches: all that can be stored is stored, whichever worker waits for the slow publisher.
        until(lambda: len(look(store)["raw_items"]) == len(QUICK) and len(finished(instance)) == 2, 180)
        dying = worker_of(run_of_slow(store, instance), fleet)
        assert all(accepted(fleet, name) for name in WORKERS)

        # One dies with the batch in its hands; its feed, and nothing else, is due again.
        fleet.kill(dying)
        found = recover(Pipeline(fleet.settings, clock=lambda: utc_now() + DEAD_AFTER * 1.1), instance)
        assert (found.feeds, found.runs, len(found.batches)) == (1, 1, 1)
        released.set()
        until(lambda: len(look(store)["raw_items"]) == len(urls) and len(finished(instance)) == 4, 180)

        assert Counter(asked.path for asked in server.asked) == {f"/{name}": 1 for name in QUICK} | {"/slow": 2}
        rows = look(store)
        assert len(rows["deduped_articles"]) == len(rows["cached_feeds"]) == len(urls)
        assert sum(int(event["count"]) for event in rows.events("articles.new")) == len(urls)
        with store.read() as tx:
            assert tx.batches.in_flight() == []
        assert {row["fetch_status"] for row in rows["feed_schedules"]} == {"idle"}
        assert sorted(run.status.value for run in refreshes(instance)) == ["FAILURE", "SUCCESS", "SUCCESS", "SUCCESS"]
        processes = [process_of(run, instance) for run in refreshes(instance)]
        assert len(set(processes)) == 4, "each run has a process of its own"

        # A run that is cancelled in the UI ends politely: its feed is given back at once.
        server.answers["/slow"].then = lambda: time.sleep(60)
        catalog.sync_feed(store, "slow", now=utc_now())
        until(lambda: len(server.asked) == len(urls) + 2, 120)
        cancelled = run_of_slow(store, instance)
        instance.report_run_canceling(cancelled)
        assert instance.run_launcher.terminate(cancelled.run_id)
        until(lambda: status_of(cancelled, instance) is dg.DagsterRunStatus.CANCELED, 60)
        with store.read() as tx:
            assert cancelled.run_id not in {batch.run_id for batch in tx.batches.in_flight()}
    store.close()


def status_of(run: dg.DagsterRun, instance: dg.DagsterInstance) -> dg.DagsterRunStatus:
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status


def finished(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return [run for run in refreshes(instance) if run.is_finished]


def refreshes(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    return list(instance.get_runs(dg.RunsFilter(job_name="refresh_feeds")))


def run_of_slow(store: Store, instance: dg.DagsterInstance) -> dg.DagsterRun:
    """The one that still goes on, which run monitoring takes for healthy."""
    with store.read() as tx:
        (batch,) = tx.batches.in_flight()
    run = instance.get_run_by_id(str(batch.run_id))
    assert run is not None and run.status is dg.DagsterRunStatus.STARTED
    assert instance.run_launcher.check_run_worker_health(run).status.value == "RUNNING"
    return run


def accepted(fleet: Services, worker: str) -> list[str]:
    """The tasks that a worker took."""
    return re.findall(r"Task execute_job\[([0-9a-f-]+)\] received", fleet.log(worker).read_text())


def worker_of(run: dg.DagsterRun, fleet: Services) -> str:
    (worker,) = (name for name in WORKERS if run.tags["dagster-celery/task_id"] in accepted(fleet, name))
    return worker


def process_of(run: dg.DagsterRun, instance: dg.DagsterInstance) -> str:
    told = [record.message for record in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)]
    (process,) = (match[1] for message in told if (match := re.search(r"Started process for run \(pid: (\d+)\)", message)))
    return process
