"""Stories in Dagster: an asset about all feeds, a run when enough waits, and a reason when none is requested."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pytest

from feed_assets.decide.grouping import group_id_of
from feed_assets.defs.grouping import group_headlines
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.store.builders import MINUTE, NOW, put
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.test_stories import ORCA, tell


@pytest.fixture
def newsroom(instance: dg.DagsterInstance, settings: Settings, store: Store) -> Dagster:
    """Two articles about one story, in a Dagster whose clock stands still."""
    with store.begin() as tx:
        put(tx, "sea", "wire")
        tell(tx, "orca-1", ORCA[0], "sea", at=NOW - 2 * MINUTE)
        tell(tx, "orca-2", (f"{ORCA[1][0]} | [now]", ORCA[1][1]), "wire", at=NOW - MINUTE)
    return Dagster(instance, settings, clock=lambda: NOW)


def reason(newsroom: Dagster) -> str:
    result = newsroom.evaluate("grouping_sensor")
    assert isinstance(result, dg.SkipReason)
    return str(result.skip_message)


def test_the_sensor_asks_for_a_run_that_materializes_the_stories_and_then_for_none(newsroom: Dagster, store: Store) -> None:
    request = newsroom.evaluate("grouping_sensor")
    assert isinstance(request, dg.RunRequest) and request.tags["feed_assets/articles"] == "2"

    ran = newsroom.definitions.resolve_job_def(group_headlines.name).execute_in_process(instance=newsroom.instance)

    (event,) = ran.get_asset_materialization_events()
    materialization = event.step_materialization_data.materialization
    assert (materialization.asset_key.to_user_string(), materialization.partition) == ("headline_groups", None)
    values = {name: value.value for name, value in materialization.metadata.items()}
    assert (values["articles examined"], values["groups founded"], values["groups grown"]) == (2, 1, 0)
    assert f"| 2 | 2 | 2026-03-02 11:59 | [{ORCA[0][0]}](http" in str(values["top stories"])
    assert f"/stories/{group_id_of('orca-1')})" in str(values["top stories"])
    assert reason(newsroom) == "no article waits; all 2 of the last 48 h were compared"

    with store.begin() as tx:
        tell(tx, "orca-3", ORCA[2], "sea", at=NOW)
    assert reason(newsroom).startswith("1 articles wait; a run follows at 50 (GROUPING_THRESHOLD_ARTICLES), or 15 min")
    newsroom.pipeline.clock = lambda: NOW + timedelta(minutes=15)
    assert isinstance(newsroom.evaluate("grouping_sensor"), dg.RunRequest)


def test_while_a_run_is_at_it_no_other_is_requested(newsroom: Dagster) -> None:
    newsroom.pipeline.clock = lambda: run_began
    run = newsroom.instance.create_run_for_job(
        newsroom.definitions.resolve_job_def(group_headlines.name), status=dg.DagsterRunStatus.STARTED
    )
    record = newsroom.instance.get_run_record_by_id(run.run_id)
    assert record is not None
    run_began = record.create_timestamp
    with newsroom.pipeline.store.begin() as tx:
        tell(tx, "orca-now", ORCA[2], "sea", at=run_began)
    assert reason(newsroom).endswith("articles wait; a run is at it")
    newsroom.pipeline.clock = lambda: run_began + timedelta(minutes=11)
    assert isinstance(newsroom.evaluate("grouping_sensor"), dg.RunRequest), "one that long ago is not waited for"


def test_the_asset_reads_well_and_stands_below_the_articles(newsroom: Dagster, store: Store) -> None:
    spec = newsroom.definitions.resolve_asset_graph().get(dg.AssetKey("headline_groups"))
    assert spec.parent_keys == {dg.AssetKey("deduped_articles")}
    assert spec.partitions_def is None
    assert len(spec.description or "") > 40 and spec.group_name == "feeds" and spec.owners and spec.code_version
    shown = {column.name for column in spec.metadata["dagster/column_schema"].columns}
    with store.read() as tx:
        assert tx.groups.top(NOW, limit=1) == []
    with store.engine.begin() as connection:
        cursor = connection._raw.execute("SELECT * FROM headline_groups LIMIT 0")  # type: ignore[attr-defined]
        assert shown == {column[0] for column in cursor.description}


def test_the_sensor_is_on_by_default(newsroom: Dagster) -> None:
    assert newsroom.definitions.get_repository_def().get_sensor_def("grouping_sensor").default_status == dg.DefaultSensorStatus.RUNNING
