"""How the assets look in the UI: descriptions, columns, dependencies, versions."""

from __future__ import annotations

from typing import NamedTuple

import dagster as dg

from feed_assets.defs.partitions import feeds_partitions
from feed_assets.defs.versions import code_version
from feed_assets.settings import settings

GROUP = "feeds"
OWNERS = ["team:feeds"]


class AssetInfo(NamedTuple):
    name: str
    upstream: str | None
    description: str
    columns: tuple[tuple[str, str, str], ...]


ASSETS = (
    AssetInfo(
        "raw_items",
        None,
        "A new document was fetched: the response (bytes and headers, in `raw_fetches`) and its entries, stored as they came. "
        "A poll that brought nothing new leaves no trace here, only a row in `fetch_history`.",
        (
            ("feed_id", "text", "The feed, and the partition key"),
            ("item_hash", "text", "SHA-256 of the item's identity, unique inside the feed"),
            ("guid", "text", "The publisher's id"),
            ("url", "text", "Link of the item"),
            ("title", "text", "Title as published"),
            ("author", "text", "Author as published"),
            ("published_at", "timestamp", "Publication time, UTC"),
            ("content", "text", "Content as published, not sanitized"),
            ("raw", "json", "Categories, enclosures and other fields"),
            ("content_hash", "text", "Fingerprint by which a changed item is noticed"),
            ("fetch_id", "text", "The response it came with"),
            ("first_seen_at", "timestamp", "When it was first seen"),
            ("last_seen_at", "timestamp", "When a changed document last had it"),
        ),
    ),
    AssetInfo(
        "deduped_articles",
        "raw_items",
        "New or changed articles, one row per story: exact identity inside a feed; across feeds the canonical URL, "
        "then the headline and source of copies within 48 hours. "
        "`article_sources` has every feed that carried the story. "
        "Materialized alone, it is replayed from stored responses: no request is made.",
        (
            ("article_id", "text", "The story"),
            ("url", "text", "Link as published"),
            ("canonical_url", "text", "Link without tracking and spelling differences"),
            ("headline", "text", "Title as plain text"),
            ("source", "text", "Name of the source"),
            ("feed_id", "text", "The feed that brought it first"),
            ("published_at", "timestamp", "Publication time as stated, or when it was first seen"),
            ("published_at_estimated", "boolean", "The publisher stated no time"),
            ("content", "text", "Sanitized HTML"),
            ("fetched_at", "timestamp", "When it was first fetched"),
            ("group_id", "text", "Group of articles about the same story"),
        ),
    ),
    AssetInfo(
        "feed_stats",
        "deduped_articles",
        "What was learned about the feed's pace, and what follows: velocity, hourly histogram, refresh interval "
        "and the reason for the next run.",
        (
            ("feed_id", "text", "The feed"),
            ("articles_per_hour", "double", "Velocity, forgetting with a half-life of ten days"),
            ("hourly_distribution", "json", "Articles by hour of the day, UTC"),
            ("current_hour_multiplier", "double", "How much busier than average this hour is"),
            ("avg_articles_per_fetch", "double", "New articles per successful fetch"),
            ("total_articles_fetched", "bigint", "New articles so far"),
            ("last_fetch_time", "timestamp", "Last attempt"),
            ("last_successful_fetch", "timestamp", "Last attempt that worked"),
        ),
    ),
    AssetInfo(
        "cached_feed_xml",
        "deduped_articles",
        "The ready-to-serve RSS 2.0 document of the feed. The HTTP API serves it as it is.",
        (
            ("feed_id", "text", "The feed"),
            ("xml_header", "text", "The channel's head"),
            ("item_refs", "json", "Articles in the document, newest first"),
            ("xml_content", "text", "The document"),
            ("etag", "text", "Its ETag"),
            ("created_at", "timestamp", "When it was first built"),
            ("updated_at", "timestamp", "When it last changed: Last-Modified and lastBuildDate"),
        ),
    ),
)
STORIES = AssetInfo(
    "headline_groups",
    "deduped_articles",
    "Articles of different publishers about one story, over all feeds: found by the rare pieces of words that headlines and beginnings "
    "share, in any language. A run compares the articles that came since the last one with those of the window; "
    "`deduped_articles.group_id` says which group an article belongs to.",
    (
        ("group_id", "text", "The group"),
        ("headline", "text", "Headline of the article that told the story first"),
        ("first_at", "timestamp", "When the story was told first"),
        ("last_at", "timestamp", "When it was told last"),
        ("articles", "bigint", "Articles in the group"),
        ("feeds", "bigint", "Feeds that carried any of them"),
        ("sources", "bigint", "Sources with different names among these"),
        ("founded_at", "timestamp", "When the group was found"),
        ("updated_at", "timestamp", "When it last grew"),
    ),
)
ANALYSIS = AssetInfo(
    "article_analysis",
    "deduped_articles",
    "What an analyzer says of the articles that the feed brought first: a score, a summary and facts, once per article and version of "
    "the analyzer (ANALYZER, its prompt and its model). Another version marks partitions as out of date; materialized again, their "
    "articles of the last ANALYSIS_DAYS are analysed anew, as far as ANALYSIS_DAILY_BUDGET allows.",
    (
        ("article_id", "text", "The story"),
        ("analyzer", "text", "What analysed it"),
        ("prompt_version", "text", "Fingerprint of what it was told to judge by"),
        ("feed_id", "text", "The feed that brought the story first"),
        ("status", "text", "`waiting`, `running`, `done` or `failed`"),
        ("score", "double", "From 0 to 100; the lower, the better"),
        ("summary", "text", "Plain text"),
        ("facts", "json", "List of plain texts"),
        ("tokens", "bigint", "What it took, where the endpoint says so"),
        ("attempts", "integer", "How often it was tried"),
        ("last_error", "text", "Why there is no analysis"),
        ("analyzed_at", "timestamp", "When the analysis came"),
        ("next_attempt_at", "timestamp", "When it is tried again"),
    ),
)
# A changed version marks materialized partitions as out of date in the UI.
CODE_VERSIONS = {asset.name: code_version(asset.name) for asset in (*ASSETS, STORIES)}
CODE_VERSIONS[ANALYSIS.name] = "none"  # the analyzer's: see `defs/analysis.py`
UPSTREAM = {asset.name: asset.upstream for asset in ASSETS}


def asset_spec(info: AssetInfo, *, by_feed: bool = True) -> dg.AssetSpec:
    engine = "postgres" if settings().store_url.startswith("postgres") else "duckdb"
    columns = [dg.TableColumn(name, kind, description=text) for name, kind, text in info.columns]
    return dg.AssetSpec(
        info.name,
        deps=[info.upstream] if info.upstream else [],
        partitions_def=feeds_partitions if by_feed else None,
        description=info.description,
        group_name=GROUP,
        owners=OWNERS,
        kinds={engine, "xml"} if info.name == "cached_feed_xml" else {engine},
        code_version=CODE_VERSIONS[info.name],
        skippable=by_feed,
        metadata={"dagster/column_schema": dg.TableSchema(columns), "dagster/table_name": _table(info.name)},
    )


def _table(asset: str) -> str:
    return "cached_feeds" if asset == "cached_feed_xml" else asset
