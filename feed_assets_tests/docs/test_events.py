"""docs/events.md names every event and setting, and its code works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg
import pytest

from feed_assets.delivery import send_test
from feed_assets.model import EventType
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.webhooks import receivers
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.webhook_receiver import WebhookReceiver

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "events.md").read_text("utf-8")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def example(name: str) -> Any:
    """A function of the page, from the block of code that defines it."""
    block = next(code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if f"def {name}(" in code)
    module = ModuleType("example")
    exec(compile(block, "docs/events.md", "exec", dont_inherit=True), module.__dict__)
    return getattr(module, name)


@pytest.mark.parametrize("kind", EventType)
def test_every_event_is_in_the_table_and_has_an_example(kind: EventType) -> None:
    assert f"| `{kind.value}` |" in PAGE
    assert f'"event_type": "{kind.value}"' in PAGE


def test_the_table_has_no_event_that_there_is_not() -> None:
    assert set(re.findall(r"^\| `([a-z.]+)` \|", PAGE, re.MULTILINE)) == set(EventType)


def test_the_verification_of_the_page_takes_ours_and_nothing_else(tmp_path: Path) -> None:
    verify = example("verify")
    for secret in (SECRET, "a plain text as a secret"):
        receiver = WebhookReceiver()
        settings = make_settings(tmp_path, WEBHOOK_URLS=receiver.base, WEBHOOK_SECRET=secret)
        send_test(settings, receivers(settings), now=utc_now())
        receiver.close()
        (heard,) = receiver.heard
        assert verify(secret, heard.headers, heard.body)
        assert not verify("another secret altogether", heard.headers, heard.body)
        assert not verify(secret, heard.headers, heard.body + b" ")
        assert not verify(secret, heard.headers | {"webhook-id": "evt_other"}, heard.body)
        old = str(int(heard.headers["webhook-timestamp"]) - 3600)
        assert not verify(secret, heard.headers | {"webhook-timestamp": old}, heard.body)


@pytest.mark.parametrize("database_url", ["duckdb"], indirect=True)
def test_the_sensor_of_the_page_hears_of_dead_feeds(tmp_path: Path, settings: Settings) -> None:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        ours = Dagster(instance, settings.model_copy(update={"dagster_events": True}))
        with ours.pipeline.store.begin() as tx:
            tx.articles.save_events((f"e{n}", "feed.dead", {"feed_id": "news"}, utc_now()) for n in range(2))
        ours.definitions.resolve_job_def("deliver_events").execute_in_process(instance=instance)
        sensor = example("feeds_died")
        theirs = dg.Definitions(sensors=[sensor], jobs=[sensor.job]).get_repository_def()
        tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, repository_def=theirs))
    assert [request.run_config for request in tick.run_requests] == [{"ops": {"open_ticket": {"config": {"dead": 2}}}}]
