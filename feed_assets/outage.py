"""When no feed at all can be fetched, it is hardly the feeds: one word about the network instead of one for each of them.

A step of `commit.py`. Feeds that die all the same are told one by one, since somebody has to revive them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from feed_assets.decide import incidents
from feed_assets.decide.attempt import Decision
from feed_assets.model import EventType
from feed_assets.store import Transaction

_LATELY = timedelta(minutes=10)
_FEEDS = 5  # fewer may well fail together by themselves


def withhold(tx: Transaction, decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions, without new `feed.failing` while nothing can be fetched. They are told later, should those feeds go on failing."""
    opening = {d.feed.feed_id for d in decisions if incidents.told(d.attempt.claim.schedule, d.schedule) is EventType.FEED_FAILING}
    if not opening or any(d.attempt.result.outcome.ok for d in decisions):
        return list(decisions)
    now = max(d.attempt.result.fetched_at for d in decisions)
    worked, failed = tx.schedules.tried_since(now - _LATELY)
    if worked or failed < _FEEDS:
        return list(decisions)
    reason = next(d.attempt.result.reason for d in decisions if d.feed.feed_id in opening)
    said = {"feeds": failed, "minutes": round(_LATELY.total_seconds() / 60), "reason": reason}
    hourly = f"{now:%Y-%m-%dT%H}/{EventType.NETWORK_TROUBLE.value}"  # the same for all batches: once an hour
    tx.articles.save_events([(hourly, EventType.NETWORK_TROUBLE.value, said, now)])
    return [replace(d, schedule=replace(d.schedule, incident=None)) if d.feed.feed_id in opening else d for d in decisions]
