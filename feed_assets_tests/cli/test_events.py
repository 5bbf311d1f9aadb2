"""`feed-assets events ...`: what is listed, tried again, delivered and tested; secrets are nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from feed_assets.refresh import utc_now
from feed_assets.store import open_store
from feed_assets_tests.support.command_line import Ran, Run, assert_failed
from feed_assets_tests.support.webhook_receiver import WebhookReceiver

SECRET = "a-secret-of-the-tests"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    running = WebhookReceiver()
    yield running
    running.close()


@pytest.fixture
def told(run: Run, receiver: WebhookReceiver, tmp_path: Path) -> Run:
    """Commands in a home where a feed has died, with a webhook at a secret address."""
    with open_store(f"duckdb:///{tmp_path / 'home' / 'feeds.duckdb'}").begin() as tx:
        tx.articles.save_events([("batch/news/feed.dead", "feed.dead", {"feed_id": "news"}, utc_now())])
        tx.articles.save_events([("batch/news/articles.new", "articles.new", {"feed_id": "news"}, utc_now())])

    def call(*arguments: str, **variables: str) -> Ran:
        url = receiver.base.replace("://", "://ann:hunter2@") + "/hook-hunter2?key=hunter2"
        ran = run(*arguments, **{"WEBHOOK_URLS": url, "WEBHOOK_SECRET": SECRET, "WEBHOOK_MAX_ATTEMPTS": "1", **variables})
        assert "hunter2" not in ran.out + ran.err and SECRET not in ran.out + ran.err
        return ran

    return call


def test_what_is_due_is_delivered_and_listed(told: Run, receiver: WebhookReceiver) -> None:
    (before, _) = told("events", "list", "--json").json()
    assert [delivery["status"] for delivery in before["deliveries"]] == ["pending"]
    assert told("events", "deliver", "--json").json()[0]["delivered"] == 2
    assert receiver.event_ids == ["batch/news/feed.dead", "batch/news/articles.new"]
    assert receiver.heard[0].headers["authorization"].startswith("Basic ") and receiver.heard[0].signed_with(SECRET.encode())
    (row,) = told("events", "list", "--type", "feed.dead", "--json").json()
    assert set(row) == {"event_id", "event_type", "payload", "created_at", "delivered_at", "deliveries"} and row["delivered_at"]
    listed = told("events", "list", "--limit", "1").out.splitlines()
    assert listed[0].split() == ["when", "type", "feed", "delivered", "event", "id"] and len(listed) == 2
    assert told("events", "list", "--pending").out == "no events\n"


def test_what_was_given_up_is_listed_with_its_reason_and_tried_again(told: Run, receiver: WebhookReceiver) -> None:
    receiver.reply = lambda _: 500
    ran = told("events", "deliver")
    assert ran.code == 1 and "HTTP 500" in ran.err
    dead = told("events", "list", "--dead")
    assert "dead (1 try: HTTP 500 Internal Server Error)" in dead.out
    receiver.reply = lambda _: 200
    assert told("events", "retry", "batch/news/feed.dead").out == "to be tried again: 1\n"
    assert told("events", "retry", "--all").out == "to be tried again: 1\n"
    assert told("events", "deliver").code == 0
    assert told("events", "list", "--dead", "--json").json() == []


def test_a_receiver_that_is_down_is_no_secret_but_its_address_is(told: Run, receiver: WebhookReceiver) -> None:
    receiver.close()
    ran = told("events", "deliver", WEBHOOK_MAX_ATTEMPTS="3")
    assert ran.code == 1 and "connection refused" in ran.err
    assert "again in" in told("events", "list", "--pending").out
    tls = told("events", "test", WEBHOOK_URLS=receiver.base.replace("http://", "https://ann:hunter2@") + "/hook-hunter2")
    assert tls.code == 1


def test_a_test_event_goes_to_every_receiver_and_tells_how_long_it_took(told: Run, receiver: WebhookReceiver) -> None:
    rows = told("events", "test", "--json", ALERT_URLS=f"{receiver.base}/alerts").json()
    assert [(row["delivered"], row["status_code"], row["error_message"]) for row in rows] == [(True, 204, None)] * 2
    assert rows[0]["url"] == f"{receiver.base}/***"
    assert {heard.said["event_type"] for heard in receiver.heard} == {"webhook.test"}
    receiver.reply = lambda _: 403
    assert "HTTP 403 Forbidden" in told("events", "test").err


def test_config_and_errors_show_no_secret(told: Run) -> None:
    assert "/***" in told("config").out
    for wrong in ({"WEBHOOK_URLS": "ftp://ann:hunter2@example.com/hunter2"}, {"WEBHOOK_EVENTS": "feed.ded"}):
        ran = told("config", **wrong)
        assert ran.code == 2 and len(ran.err.splitlines()) == 1
    assert "is too short" in told("config", WEBHOOK_SECRET="hunter2").err
    assert "not base64" in told("config", WEBHOOK_SECRET="whsec_-hunter2-hunter2-").err


def test_without_webhooks_commands_say_which_setting_names_them(run: Run) -> None:
    for command in ("deliver", "test"):
        assert_failed(run("events", command), 1, "FEED_ASSETS_WEBHOOK_URLS")
    assert run("events", "list").out == "no events\n"


def test_what_makes_no_sense_is_refused(run: Run) -> None:
    assert_failed(run("events", "retry"), 2, "--all")
    assert_failed(run("events", "list", "--dead", "--pending"), 2, "either")
    assert_failed(run("events", "list", "--type", "feed.ded"), 2, "feed.dead")
    assert_failed(run("events", "retry", "unknown"), 1, "events list --dead")
