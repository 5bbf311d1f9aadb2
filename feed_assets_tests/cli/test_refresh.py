"""`refresh` and `replay`: through the Dagster job, from a real server; and `serve`."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from feed_assets.settings import PREFIX
from feed_assets.store import Store
from feed_assets_tests.cli.conftest import LOOPBACK
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.command_line import Run, assert_failed, run_as_process
from feed_assets_tests.support.contract import FETCH_HISTORY_COLUMNS
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import add, table


def test_a_process_refreshes_a_feed(run: Run, server: FeedServer, tmp_path: Path) -> None:
    run("feed", "add", server.publish("/feed", rss("one", "two")), "--id", "news")
    ran = run_as_process(tmp_path, "refresh", "news", "--json", **LOOPBACK)
    assert (ran.code, ran.err) == (0, "")
    (row,) = ran.json()
    assert (row["feed_id"], row["outcome"], row["status_code"], row["articles_new"]) == ("news", "success", 200, 2)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_refresh_and_replay_use_the_database_they_are_given(
    ready: Run, store: Store, database_url: str, clock: Clock, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two")))
    assert ready("refresh", "news", DATABASE_URL=database_url).code == 0
    assert len(table(store, "deduped_articles")) == 2
    assert table(store, "fetch_history")[0]["run_id"]
    (again,) = ready("replay", "news", "--json", DATABASE_URL=database_url).json()
    assert (again["articles_found"], len(server.asked)) == (2, 1)


def test_a_second_refresh_finds_nothing_new_a_replay_asks_nobody_and_the_runs_are_recorded(
    ready: Run, server: FeedServer, tmp_path: Path
) -> None:
    import dagster as dg

    ready("feed", "add", server.publish("/feed", rss("one", "two"), ETag='"1"'), "--id", "news")
    first, second, replayed = ready("refresh", "news", "--json"), ready("refresh", "news", "--json"), ready("replay", "news", "--json")
    assert [(ran.code, ran.err) for ran in (first, second, replayed)] == [(0, "")] * 3
    assert [ran.json()[0]["articles_new"] for ran in (first, second, replayed)] == [2, 0, 0]
    assert [ran.json()[0]["outcome"] for ran in (first, second, replayed)] == ["success", "not_modified", "success"]
    assert replayed.json()[0]["articles_found"] == 2
    assert first.json()[0].keys() >= FETCH_HISTORY_COLUMNS - {"fetch_id", "fetch_time", "run_id"}
    assert len(server.asked) == 2
    assert [attempt["articles_new"] for attempt in ready("feed", "show", "news", "--json").json()["history"]] == [0, 2]
    assert "ok" in ready("feed", "list").out.splitlines()[1].split()
    with dg.DagsterInstance.from_config(str(tmp_path / "home" / "dagster")) as instance:
        assert instance.get_runs_count() == 3
        assert instance.get_materialized_partitions(dg.AssetKey("raw_items")) == {"news"}


def test_feeds_that_fail_exit_1_with_the_reasons_in_one_line(ready: Run, server: FeedServer) -> None:
    ready("feed", "add", server.fail("/gone", 404).replace("//", "//reader:hunter2@"), "--id", "gone")
    ready("feed", "add", server.publish("/off", rss("one")), "--id", "off", "--disabled")
    ran = ready("refresh", "gone", "off", "--json")
    assert ran.code == 1
    assert {row["feed_id"]: row["outcome"] for row in ran.json()} == {"gone": "permanent_error", "off": "temporary_error"}
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("error: ")
    assert all(words in ran.err for words in ("gone: HTTP 404", "it is disabled"))
    assert "hunter2" not in ran.out + ran.err
    assert [asked.path for asked in server.asked] == ["/gone"]
    assert "dead" in ready("feed", "list").out.splitlines()[1].split()


def test_without_arguments_what_is_due_is_refreshed_once(ready: Run, server: FeedServer) -> None:
    for name in ("one", "two"):
        ready("feed", "add", server.publish(f"/{name}", rss(name, base=f"https://{name}.example")), "--id", name, "--interval", "60")
    ready("feed", "add", server.fail("/broken", 500), "--id", "broken")
    ready("feed", "add", server.publish("/off", rss("off")), "--id", "off", "--disabled")
    first, second = ready("refresh", "--json"), ready("refresh")
    assert first.code == 0
    assert {row["feed_id"]: row["outcome"] for row in first.json()} == {"one": "success", "two": "success", "broken": "temporary_error"}
    assert first.err.startswith("broken: HTTP 500")
    assert len(first.err.splitlines()) == 1
    assert (second.code, second.out) == (0, "nothing to do: no feed is due\n")
    assert sorted(asked.path for asked in server.asked) == ["/broken", "/one", "/two"]


def test_all_refreshes_what_is_not_due_but_not_what_is_disabled(ready: Run, server: FeedServer) -> None:
    ready("feed", "add", server.publish("/one", rss("one")), "--id", "one")
    ready("feed", "polling", "one", "off")
    ready("feed", "add", server.publish("/off", rss("off")), "--id", "off", "--disabled")
    ran = ready("refresh", "--all")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["feed", "one"]
    assert [asked.path for asked in server.asked] == ["/one"]


def test_replay_of_a_feed_that_was_never_fetched_fails(ready: Run) -> None:
    ready("feed", "add", "https://news.example/feed", "--id", "news")
    ran = ready("replay", "news")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert "nothing to replay" in ran.err


def test_nothing_to_refresh_is_no_failure(run: Run) -> None:
    for arguments in (["refresh"], ["refresh", "--all"], ["refresh", "--due"], ["replay", "--all"]):
        ran = run(*arguments, "--json")
        assert (ran.code, ran.json(), ran.err) == (0, [], "")


def test_serve_answers_over_http_and_stops_at_ctrl_c(empty_url: str, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = os.environ | {f"{PREFIX}HOME": str(tmp_path / "home"), f"{PREFIX}DATABASE_URL": empty_url}
    command = [sys.executable, "-m", "feed_assets.cli.main", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        status, body = ask(port, "/health")
        assert (status, json.loads(body)["status"]) == (200, "ok")
        assert ask(port, "/rss/nowhere", method="HEAD") == (404, b"")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert "Traceback" not in errors


def test_serve_on_a_port_that_is_taken_fails(server: FeedServer, tmp_path: Path) -> None:
    ran = run_as_process(tmp_path, "serve", "--port", server.base.rpartition(":")[2])
    assert_failed(ran, 1, "in use")


def ask(port: int, path: str, method: str = "GET") -> tuple[int, bytes]:
    """One request, as soon as somebody listens."""
    deadline = time.monotonic() + 20
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.05)
        finally:
            connection.close()
