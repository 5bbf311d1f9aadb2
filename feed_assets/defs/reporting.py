"""A feed's report as Dagster events: materializations with the metadata people want to see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import dagster as dg

from feed_assets.defs.checks import ASSET_OF_CHECK, evaluation
from feed_assets.defs.schemas import ASSETS, CODE_VERSIONS, UPSTREAM
from feed_assets.model import FeedReport
from feed_assets.urls import mask_password

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation
ASSET_NAMES = tuple(asset.name for asset in ASSETS)


def events(report: FeedReport, assets: Collection[str], *, site_url: str, always: bool) -> Iterator[Event]:
    """What Dagster should know: materializations when there is news, checks whose verdict changed; or `always` both."""
    if report.outcome.ok and report.stored and (report.news or report.unreported or always):
        for name in ASSET_NAMES:
            if name in assets:
                yield dg.AssetMaterialization(
                    name,
                    partition=report.feed_id,
                    description=_summary(report),
                    metadata=_METADATA[name](report, site_url),
                    tags=_versions(name, report.data_version or "none"),
                )
    for check in report.checks:
        if (check.changed or always) and ASSET_OF_CHECK[check.name] in assets:
            yield evaluation(report.feed_id, check)


def failure(reports: Sequence[FeedReport]) -> dg.Failure | None:
    """The run's failure when every feed of it failed: for one feed, its reason."""
    failed = [report for report in reports if not report.outcome.ok]
    if not failed or len(failed) < len(reports):
        return None
    lines = [f"{report.feed_id}: {report.reason} ({mask_password(report.url)})" for report in failed]
    shown = "; ".join(lines[:5]) + (f"; and {len(lines) - 5} more" if len(lines) > 5 else "")
    return dg.Failure(shown, metadata={"feeds": len(failed)}, allow_retries=False)


def _summary(report: FeedReport) -> str:
    if report.replayed:
        return f"replayed: {report.found} items read again from stored responses"
    if not report.news:
        return "unchanged since the last fetch" + ("; that run was cut short before it could be told here" if report.unreported else "")
    return f"{report.new} new, {report.changed} changed of {report.found} items"


def _versions(name: str, data_version: str) -> dict[str, str]:
    """Versions by which the UI tells fresh partitions from outdated ones; events we yield ourselves would have none."""
    tags = {"dagster/code_version": CODE_VERSIONS[name], "dagster/data_version": data_version}
    if upstream := UPSTREAM[name]:
        tags |= {f"dagster/input_data_version/{upstream}": data_version, f"dagster/input_event_pointer/{upstream}": "NULL"}
    return tags


def _raw_items(report: FeedReport, site_url: str) -> Mapping[str, Any]:
    return {
        "new items": report.new,
        "found": report.found,
        "changed": report.changed,
        "status": report.status_code or 0,
        "bytes": report.bytes_received,
        "duration (ms)": report.duration_ms,
        "url": dg.MetadataValue.url(mask_password(report.url)),
        "page": dg.MetadataValue.url(f"{site_url}/feeds/{report.feed_id}"),
        "preview": dg.MetadataValue.md(_preview(report)),
    }


def _deduped_articles(report: FeedReport, site_url: str) -> Mapping[str, Any]:
    return {"new articles": report.new, "changed": report.changed, "preview": dg.MetadataValue.md(_preview(report))}


def _feed_stats(report: FeedReport, site_url: str) -> Mapping[str, Any]:
    metadata: dict[str, Any] = {
        "articles per hour": round(report.articles_per_hour, 3),
        "interval (min)": round((report.interval_seconds or 0) / 60, 2),
        "why": report.next_run_reason or "",
    }
    if report.next_run_at:
        metadata["next run"] = dg.MetadataValue.timestamp(report.next_run_at)
    return metadata


def _cached_feed_xml(report: FeedReport, site_url: str) -> Mapping[str, Any]:
    return {"xml": dg.MetadataValue.url(f"{site_url}/rss/{report.feed_id}"), "feed": dg.MetadataValue.url(mask_password(report.url))}


_METADATA = {
    "raw_items": _raw_items,
    "deduped_articles": _deduped_articles,
    "feed_stats": _feed_stats,
    "cached_feed_xml": _cached_feed_xml,
}


def _preview(report: FeedReport) -> str:
    """The first titles as a Markdown table."""
    if not report.titles:
        return "_nothing new_"
    rows = [f"| {_when(published)} | {markdown_link(title, url)} |" for published, title, url in report.titles]
    return "\n".join(("| published (UTC) | title |", "|---|---|", *rows))


def _when(published: datetime | None) -> str:
    return f"{published:%Y-%m-%d %H:%M}" if published else "not stated"


def markdown_link(title: str, url: str | None) -> str:
    """A title that says what it says, whatever characters it has; with a link if there is one that can be followed."""
    text = "".join(f"\\{character}" if character in "\\`*_{}[]()<>#|!" else character for character in title[:200])
    if url and url.startswith(("http://", "https://")) and not any(character in url for character in " ()<>|[]\\\"'`"):
        return f"[{text}]({url})"
    return text
