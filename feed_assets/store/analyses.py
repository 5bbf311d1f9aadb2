"""`article_analysis` and `analysis_spending`: what waits to be analysed, who is at it, what came out, and what a day may cost.

A claim is a lease with a token, as for feeds. Each claimed article has a request of the day's budget with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from feed_assets.model import Analysis
from feed_assets.store.encoding import encode_json
from feed_assets.store.engine import Connection, Row

_SAVED = (
    "article_id",
    "lease_token",
    "status",
    "score",
    "summary",
    "facts",
    "tokens",
    "attempts",
    "last_error",
    "analyzed_at",
    "next_attempt_at",
)


@dataclass(frozen=True, slots=True)
class AnalyzerVersion:
    """Whose analyses: an article has one of each version."""

    analyzer: str
    prompt_version: str


@dataclass(frozen=True, slots=True)
class AnalysisQueue:
    """Articles by how they stand with one version of an analyzer."""

    due: int
    running: int
    later: int
    failed: int
    done: int
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class ClaimedArticle:
    """An article that this worker is to have analysed; `attempts` counts this one."""

    article_id: str
    feed_id: str
    url: str | None
    headline: str
    source: str
    published_at: datetime
    content: str
    attempts: int


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """What became of a claimed article: `done` with an analysis, `failed` for good, or `waiting` until `next_attempt_at`."""

    article_id: str
    status: str
    attempts: int
    analysis: Analysis | None = None
    last_error: str | None = None
    next_attempt_at: datetime | None = None


class Analyses:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def queue(self, version: AnalyzerVersion, *, now: datetime, since: datetime, feed_ids: Sequence[str] | None = None) -> AnalysisQueue:
        """Of articles that were first seen `since`."""
        rows = self._db.rows(
            "analysis_queue",
            analyzer=version.analyzer,
            prompt_version=version.prompt_version,
            now=now,
            since=since,
            feed_ids=_listed(feed_ids),
        )
        return AnalysisQueue(**rows[0])

    def claim(
        self,
        version: AnalyzerVersion,
        token: str,
        *,
        now: datetime,
        lease: timedelta,
        since: datetime,
        limit: int,
        budget: int | None,
        feed_ids: Sequence[str] | None = None,
    ) -> list[ClaimedArticle]:
        """Take up to `limit` articles, each with a request out of today's budget."""
        spent = self._db.rows("open_day", day=day_of(now))[0]["requests"]
        most = limit if budget is None else min(limit, budget - spent)
        if most <= 0:
            return []
        rows = self._db.rows(
            "claim_analyses",
            analyzer=version.analyzer,
            prompt_version=version.prompt_version,
            token=token,
            now=now,
            until=now + lease,
            since=since,
            most=most,
            feed_ids=_listed(feed_ids),
        )
        if not rows:
            return []
        self._db.run("spend", day=day_of(now), requests=len(rows), tokens=0)
        claimed = self._db.rows("claimed_articles", token=token, article_ids=[row["article_id"] for row in rows])
        return [ClaimedArticle(**row) for row in claimed]

    def give_up_lost(self, *, now: datetime, most: int, reason: str) -> None:
        """No further try for what was claimed so often and never came back."""
        self._db.run("give_up_lost", now=now, most=most, reason=reason)

    def spend(self, now: datetime, *, budget: int | None) -> bool:
        """Take one more request out of today's budget; whether there was one."""
        spent = self._db.rows("open_day", day=day_of(now))[0]["requests"]
        if budget is not None and spent >= budget:
            return False
        self._db.run("spend", day=day_of(now), requests=1, tokens=0)
        return True

    def account(self, day: str, *, unsent: int, tokens: int) -> None:
        """Give back requests that were never sent, and note the tokens that the others took. Before anything else of a transaction, as
        claims do: else two of them could wait for each other in a circle."""
        if unsent or tokens:
            self._db.run("spend", day=day, requests=-unsent, tokens=tokens)

    def spent(self, now: datetime) -> int:
        """Requests of today so far."""
        return next((row["requests"] for row in self._db.rows("spent", day=day_of(now))), 0)

    def renew(self, token: str, *, now: datetime, lease: timedelta) -> None:
        self._db.run("renew_analyses", token=token, until=now + lease)

    def release(self, token: str, *, now: datetime) -> int:
        """Give back what is still held; how many articles that were."""
        return len(self._db.rows("release_analyses", token=token, now=now))

    def fence(self, token: str) -> set[str]:
        """The articles that are still ours to write."""
        return {row["article_id"] for row in self._db.rows("fence_analyses", token=token)}

    def save(self, token: str, results: Sequence[AnalysisResult], *, now: datetime) -> None:
        """Store what came out and end the leases; what is not held under `token` any more stays as it is."""
        self._db.write("save_analyses", _SAVED, (_row(token, result, now) for result in results))
        if self._db.is_copied:
            self._db.write("note_analyses", ("article_id",), ([r.article_id] for r in results if r.analysis))

    def of(self, article_ids: Iterable[str]) -> dict[str, Analysis]:
        """The latest analysis of each of these articles that has one."""
        wanted = sorted(set(article_ids))
        rows = self._db.rows("analyses_of", article_ids=wanted) if wanted else []
        return {row.pop("article_id"): Analysis(**row | {"facts": tuple(row["facts"] or ())}) for row in rows}

    def by_feed(self, version: AnalyzerVersion, feed_ids: Sequence[str]) -> dict[str, Row]:
        """feed_id -> how many articles this version has analysed (`done`), when last (`latest_at`), of which document (`body_sha256`)."""
        rows = self._db.rows("analyses_by_feed", analyzer=version.analyzer, prompt_version=version.prompt_version, feed_ids=list(feed_ids))
        return {row.pop("feed_id"): row for row in rows}


def day_of(now: datetime) -> str:
    """The UTC day that a request counts for."""
    return f"{now.astimezone(UTC):%Y-%m-%d}"


def _row(token: str, result: AnalysisResult, now: datetime) -> list[object]:
    found = result.analysis
    return [
        result.article_id,
        token,
        result.status,
        found.score if found else None,
        found.summary if found else None,
        encode_json(found.facts) if found else None,
        found.tokens if found else 0,
        result.attempts,
        result.last_error,
        now if found else None,
        result.next_attempt_at,
    ]


def _listed(feed_ids: Sequence[str] | None) -> list[str] | None:
    return None if feed_ids is None else list(feed_ids)
