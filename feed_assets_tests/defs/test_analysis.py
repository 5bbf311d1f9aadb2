"""The analysis in Dagster: an asset per feed, a sensor that says why it rests, and partitions that a new prompt makes out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from feed_assets import catalog
from feed_assets.defs.analysis import analysis_config, analyze_job
from feed_assets.refresh import utc_now
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.analyze.conftest import KEY, openai_settings
from feed_assets_tests.support.chat_server import ChatServer, fails
from feed_assets_tests.support.dagster import Dagster, Ran, failure_of, materialized
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.rows import one_engine

MOCK = {"analyzer": "mock"}


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    running = ChatServer()
    yield running
    running.close()


@pytest.fixture
def news(store: Store, server: FeedServer, dagster: Dagster) -> str:
    """A feed with two articles, refreshed once."""
    catalog.add_feed(store, server.publish("/news", rss("Second story", "First *story*")), now=utc_now(), feed_id="news")
    dagster.register()
    assert dagster.refresh("news").success
    return "news"


def over(dagster: Dagster, settings: Settings, **values: object) -> Dagster:
    """The same instance with other settings."""
    return Dagster(dagster.instance, settings.model_copy(update=values))


def analyze(dagster: Dagster, *, partition_key: str | None = None, limit: int = 0) -> Ran:
    """As the job does it, or as a click on a partition does."""
    name, config = ("__ASSET_JOB", None) if partition_key else (analyze_job.name, analysis_config(limit=limit))
    result = dagster.definitions.resolve_job_def(name).execute_in_process(
        instance=dagster.instance,
        run_config=config,
        partition_key=partition_key,
        asset_selection=[dg.AssetKey("article_analysis")] if partition_key else None,
        raise_on_error=False,
    )
    return Ran(result, dagster.instance)


def tick(dagster: Dagster) -> dg.RunRequest | str:
    """What the sensor asks for, or why it does not."""
    result = dagster.evaluate("analysis_sensor")
    assert isinstance(result, dg.RunRequest | dg.SkipReason)
    return result if isinstance(result, dg.RunRequest) else str(result.skip_message)


def status(dagster: Dagster, feed_id: str = "news") -> StaleStatus:
    graph = dagster.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(dagster.instance, graph, LoadingContextForTest(dagster.instance))
    return resolver.get_status(dg.AssetKey("article_analysis"), feed_id)


def test_the_sensor_has_waiting_articles_analysed_and_says_so_per_feed(dagster: Dagster, settings: Settings, news: str) -> None:
    assert tick(dagster) == "ANALYZER is none: articles are not analysed"
    mock = over(dagster, settings, **MOCK)
    request = tick(mock)
    assert isinstance(request, dg.RunRequest) and request.run_config == analysis_config(limit=2)
    ran = analyze(mock, limit=2)
    assert ran.success
    found = materialized(ran)
    assert set(found) == {("article_analysis", news)}
    told = found["article_analysis", news]
    assert (told.metadata["analysed"].value, told.metadata["failed"].value) == (2, 0)
    assert 0 <= float(str(told.metadata["average score"].value)) <= 100
    assert "| score | article |" in str(told.metadata["preview"].value) and r"First \*story\*" in str(told.metadata["preview"].value)
    assert str(tick(mock)).startswith("nothing to analyse: 0 articles wait, 0 are being analysed")


@one_engine
def test_a_new_prompt_or_analyzer_makes_partitions_out_of_date_until_they_are_analysed_anew(
    dagster: Dagster, settings: Settings, news: str
) -> None:
    mock = over(dagster, settings, **MOCK)
    assert status(mock) is StaleStatus.MISSING
    assert analyze(mock).success
    assert status(mock) is StaleStatus.FRESH
    other = over(dagster, settings, **MOCK, analysis_prompt="relevance")
    assert status(other) is StaleStatus.STALE
    again = analyze(other, partition_key=news)
    assert materialized(again)["article_analysis", news].metadata["analysed"].value == 2
    assert status(other) is StaleStatus.FRESH


@one_engine
def test_a_partition_launched_by_hand_is_always_answered(dagster: Dagster, settings: Settings, news: str) -> None:
    mock = over(dagster, settings, **MOCK)
    analyze(mock)
    again = analyze(mock, partition_key=news)
    assert again.success
    assert materialized(again)["article_analysis", news].metadata["preview"].value == "_nothing waited_"
    assert "ANALYZER is none" in failure_of(analyze(dagster, partition_key=news))


@one_engine
def test_the_sensor_rests_when_the_budget_is_spent(dagster: Dagster, settings: Settings, news: str) -> None:
    mock = over(dagster, settings, **MOCK, analysis_daily_budget=1)
    assert analyze(mock).success
    assert "1 articles wait" in str(tick(mock)) and "today's budget is spent (1 requests" in str(tick(mock))


@one_engine
def test_a_refused_key_fails_the_run_with_the_reason_and_is_shown_nowhere(
    dagster: Dagster, settings: Settings, news: str, chat: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    chat.always = fails(401, f"Incorrect API key provided: {KEY}")
    openai = Dagster(dagster.instance, openai_settings(tmp_path, chat, DATABASE_URL=settings.database_url))
    ran = analyze(openai)
    assert not ran.success
    assert "is OPENAI_API_KEY right?" in failure_of(ran)
    assert "the analyzer is left alone until" in str(tick(openai))
    logged = [str(entry) for entry in dagster.instance.all_logs(ran.run_id)]
    run = dagster.instance.get_run_by_id(ran.run_id)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "postgres" not in str(path))
    assert chat.keys and KEY not in repr((logged, run, caplog.text))
    assert KEY.encode() not in written


@one_engine
def test_a_prompt_that_is_missing_stops_the_analysis_and_nothing_else(dagster: Dagster, settings: Settings, news: str) -> None:
    wrong = over(dagster, settings, **MOCK, analysis_prompt="nothing")
    assert "ANALYSIS_PROMPT is 'nothing'" in str(tick(wrong))
    assert "ANALYSIS_PROMPT is 'nothing'" in failure_of(analyze(wrong))
    assert wrong.refresh("news").success


def test_the_asset_reads_well_and_hangs_below_the_articles(dagster: Dagster, settings: Settings, store: Store) -> None:
    spec = dagster.definitions.resolve_asset_graph().get(dg.AssetKey("article_analysis"))
    assert spec.parent_keys == {dg.AssetKey("deduped_articles")}
    assert spec.description and spec.owners and spec.group_name == "feeds"
    shown = {column.name for column in spec.metadata["dagster/column_schema"].columns}
    with store.engine.begin() as connection:
        cursor = connection._raw.execute("SELECT * FROM article_analysis LIMIT 0")  # type: ignore[attr-defined]
        assert shown <= {column[0] for column in cursor.description}
    versions = {over(dagster, settings, **values).definitions.resolve_asset_graph().get(spec.key).code_version for values in ({}, MOCK)}
    assert len(versions) == 2 and "none" in versions
