"""Per-feed checks: what a person would want to be told about a feed. The names are Dagster asset checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from feed_assets.model import Changes, CheckResult, FetchResult, ParsedFeed

POLLED_IN_TIME = "polled_in_time"


class Check(NamedTuple):
    name: str
    asset: str
    description: str


CHECKS = (
    Check("reachable", "raw_items", "The last fetch of this feed worked."),
    Check("items_not_vanished", "raw_items", "A feed that had items still has some."),
    Check(
        "overlap_with_previous_fetch", "raw_items", "The document shares items with the previous one; if not, items were probably missed."
    ),
    Check("ids_unique", "raw_items", "No two entries of the document have the same id."),
    Check("dates_sane", "deduped_articles", "No entry is dated in the future or before the web."),
    Check(POLLED_IN_TIME, "feed_stats", "The feed was not left waiting for more than twice its interval. The recovery sensor looks at it."),
    Check("xml_valid", "cached_feed_xml", "The served XML is well-formed and has the items it should have."),
)

_FUTURE = timedelta(days=1)
_WEB_YEAR = 1990
_IM_USED = 226  # the server sent what is new and left out what we have (A-IM: feed)


def reachable(result: FetchResult) -> CheckResult:
    return CheckResult("reachable", result.outcome.ok, result.reason or "answered")


def late(feed_id: str) -> CheckResult:
    return CheckResult(POLLED_IN_TIME, False, f"{feed_id} has been due for more than its interval: more batches or workers are needed")


def late_no_more(before: Mapping[str, bool]) -> list[CheckResult]:
    """An attempt is the end of being late; of a feed that was not, there is nothing new to tell."""
    return [] if before.get(POLLED_IN_TIME) else [CheckResult(POLLED_IN_TIME, True, "it was polled")]


def document_checks(parsed: ParsedFeed, changes: Changes, stored_before: int, result: FetchResult) -> list[CheckResult]:
    """What a new document tells about the feed's health."""
    entries, now = len(parsed.entries), result.fetched_at
    only_news = result.status_code == _IM_USED
    overlap = only_news or not stored_before or not entries or bool(changes.known or changes.changed)
    odd = [e for e in parsed.entries if e.published_at and (e.published_at > now + _FUTURE or e.published_at.year < _WEB_YEAR)]
    return [
        CheckResult(
            "items_not_vanished", bool(entries) or not stored_before, f"{entries} items in the document, {stored_before} stored before"
        ),
        CheckResult(
            "overlap_with_previous_fetch",
            overlap,
            f"{len(changes.known) + len(changes.changed)} of {entries} items were known"
            + ("" if overlap else ": some were probably missed"),
        ),
        CheckResult("ids_unique", not changes.repeated_ids, f"{changes.repeated_ids} entries repeat the id of another"),
        CheckResult("dates_sane", not odd, f"{len(odd)} entries dated in the future or before {_WEB_YEAR}"),
    ]


def compared(checks: Sequence[CheckResult], before: Mapping[str, bool]) -> tuple[CheckResult, ...]:
    """All verdicts that hold now: these, marked where they are new ones, and the earlier ones of what was not looked at again."""
    looked_at = {check.name for check in checks}
    kept = (CheckResult(name, passed, "as when the feed last changed", changed=False) for name, passed in before.items())
    return (
        *(replace(check, changed=before.get(check.name) != check.passed) for check in checks),
        *(check for check in kept if check.name not in looked_at),
    )
