"""Changing how feeds are read or deduplicated marks what older code has built as out of date; comments do not."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from feed_assets import catalog
from feed_assets.defs.assets import refresh_assets
from feed_assets.defs.versions import PACKAGE, code_version
from feed_assets.refresh import utc_now
from feed_assets.store import Store
from feed_assets_tests.support.dagster import Dagster
from feed_assets_tests.support.feed_server import FeedServer, rss


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's code, to be changed."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "feed_assets", ignore=shutil.ignore_patterns("__pycache__", "sql")))


def append(package: Path, file: str, text: str) -> None:
    path = package / file
    path.write_text(path.read_text("utf-8") + text, "utf-8")


@pytest.mark.parametrize("file", ["parse/dates.py", "parse/xmlfeed.py", "decide/identity.py", "decide/dedup.py", "decide/headlines.py"])
def test_code_that_reads_or_deduplicates_is_in_the_version_of_the_articles(package: Path, file: str) -> None:
    before = code_version("deduped_articles", package)
    append(package, file, "\nMORE = 1\n")
    assert code_version("deduped_articles", package) != before
    assert code_version("cached_feed_xml", package) == code_version("cached_feed_xml")


def test_comments_and_docstrings_change_no_version(package: Path) -> None:
    append(package, "parse/dates.py", "\n# a remark\n")
    path = package / "parse" / "text.py"
    path.write_text(path.read_text("utf-8").replace('"""', '"""Really: ', 1), "utf-8")
    assert code_version("deduped_articles", package) == code_version("deduped_articles")


def test_partitions_that_older_code_has_built_are_out_of_date(dagster: Dagster, store: Store, server: FeedServer) -> None:
    catalog.add_feed(store, server.publish("/news", rss("One")), now=utc_now(), feed_id="news")
    dagster.register()
    assert dagster.refresh("news").success

    def status(assets: dg.AssetsDefinition, name: str) -> StaleStatus:
        graph = dg.Definitions(assets=[assets], resources={"pipeline": dagster.pipeline}).resolve_asset_graph()
        return CachingStaleStatusResolver(dagster.instance, graph, LoadingContextForTest(dagster.instance)).get_status(
            dg.AssetKey(name), "news"
        )

    newer = refresh_assets.map_asset_specs(
        lambda spec: spec.replace_attributes(code_version="newer") if spec.key.to_user_string() == "deduped_articles" else spec
    )
    assert status(refresh_assets, "deduped_articles") is StaleStatus.FRESH
    assert status(newer, "deduped_articles") is StaleStatus.STALE
    assert status(newer, "raw_items") is StaleStatus.FRESH
