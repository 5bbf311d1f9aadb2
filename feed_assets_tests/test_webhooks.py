"""Whom webhooks go to, and what is not let out about them."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feed_assets.settings import Settings
from feed_assets.urls import mask_secrets
from feed_assets.webhooks import Receiver, Sender, receiver_name, receivers, webhook_id
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.raw_server import raw_server

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path, WEBHOOK_TIMEOUT_SECONDS=0.3)


def test_a_receiver_has_a_stable_name_without_its_secrets() -> None:
    url = "https://ann:hunter2@hooks.example.com:8443/services/hunter2?key=hunter2"
    assert receiver_name(url) == receiver_name(url) == "hooks.example.com:8443-7dd3fc53"
    assert receiver_name(url) != receiver_name(url + "3")
    assert "hunter2" not in str(Receiver(receiver_name(url), url, None))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com/services/T0/hunter2", "https://hooks.example.com/***"),
        ("https://ann:hunter2@example.com", "https://example.com"),
        ("http://example.com?token=hunter2", "http://example.com/***"),
        ("http://[::1]:9/hunter2", "http://[::1]:9/***"),
        ("hunter2", "***"),
    ],
)
def test_of_a_webhooks_url_only_the_place_is_shown(url: str, shown: str) -> None:
    assert mask_secrets(url) == shown


def test_a_url_for_both_purposes_is_one_receiver_that_gets_what_either_would(tmp_path: Path) -> None:
    url = "http://127.0.0.1:1/hook"
    both = make_settings(tmp_path, WEBHOOK_URLS=url, ALERT_URLS=f"{url}, {url}2", WEBHOOK_EVENTS="articles.new")
    alerts = ("feed.failing", "feed.dead", "feed.recovered", "network.trouble")
    assert [receiver.types for receiver in receivers(both)] == [("articles.new", *alerts), alerts]
    every = make_settings(tmp_path, WEBHOOK_URLS=url, ALERT_URLS=url)
    assert [receiver.types for receiver in receivers(every)] == [None]


def test_the_id_of_an_event_has_no_dot_and_depends_on_nothing_else() -> None:
    assert webhook_id("batch/a.b/feed.dead") == webhook_id("batch/a.b/feed.dead")
    assert "." not in webhook_id("batch/a.b/feed.dead")
    assert webhook_id("a.b") != webhook_id("a_b")


def post(settings: Settings, url: str) -> tuple[bool, str]:
    sender = Sender(settings, Receiver("name", url, None))
    answer = sender.post("e1", b"{}", NOW)
    sender.close()
    return answer.answered, str(answer.reason)


def test_no_failure_repeats_the_secret_address(settings: Settings) -> None:
    def hang(connection: socket.socket) -> None:
        threading.Event().wait(0.6)

    for script in (hang, lambda connection: connection.sendall(b"nonsense\r\n\r\n"), lambda connection: None):
        with raw_server(script) as base:
            for url in (base, base.replace("http:", "https:")):
                answered, reason = post(settings, url.replace("://", "://ann:hunter2@") + "/hunter2?key=hunter2")
                assert not answered and reason and "hunter2" not in reason, reason


def test_a_body_that_never_ends_does_not_undo_a_success(settings: Settings) -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        threading.Event().wait(1)

    with raw_server(drip) as base:
        sender = Sender(settings, Receiver("name", base, None))
        answer = sender.post("e1", b"{}", NOW)
        assert answer.delivered and answer.seconds < 0.6


def test_headers_that_drip_run_into_the_time_limit(settings: Settings) -> None:
    def drip(connection: socket.socket) -> None:
        for _ in range(20):
            connection.sendall(b"H")
            threading.Event().wait(0.1)

    with raw_server(drip) as base:
        sender = Sender(settings, Receiver("name", base, None))
        answer = sender.post("e1", b"{}", NOW)
        assert not answer.delivered and answer.seconds < 0.8
