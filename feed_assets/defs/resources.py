"""The resource that runs use: settings and store, opened when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from feed_assets.analysis import ArticleReport
from feed_assets.errors import UsageError
from feed_assets.following import FeedsFile, in_words
from feed_assets.model import FeedReport
from feed_assets.refresh import Clock, utc_now
from feed_assets.settings import Settings, settings
from feed_assets.store import Store, open_store

IDLE_SECONDS = 600  # between the looks of sensors that nobody has set up anything for: each look costs CPU


class Pipeline:
    """Plain on purpose: Dagster shows the configuration of its own kind of resources, and a database URL has a password."""

    def __init__(
        self,
        configured: Settings | None = None,
        on_report: Callable[[FeedReport], None] | None = None,
        on_article: Callable[[ArticleReport], None] | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._configured = configured
        self._on_report = on_report
        self._on_article = on_article
        self.clock = clock

    @cached_property
    def settings(self) -> Settings:
        return self._configured or settings()

    @cached_property
    def store(self) -> Store:
        return open_store(self.settings.store_url)

    @cached_property
    def _feeds_file(self) -> FeedsFile:
        return FeedsFile(self.settings)

    def follow_feeds_file(self) -> list[str]:
        """Apply FEEDS_FILE if it has changed; what there is to say about that. Polling goes on whatever the file looks like."""
        try:
            done = self._feeds_file.follow(self.store, now=self.clock())
        except UsageError as error:
            return [str(error)]
        return in_words(done) if done else []

    def mark_told(self, reports: Sequence[FeedReport]) -> None:
        """Remember what Dagster has been told, so that a run that is cut short is made good by the next."""
        versions = {r.feed_id: r.data_version for r in reports if r.outcome.ok and r.stored and r.data_version and (r.news or r.unreported)}
        if versions:
            with self.store.begin() as tx:
                tx.schedules.reported(versions.items())

    def reported(self, report: FeedReport) -> FeedReport:
        """Let whoever started the run see how it goes: the progress bar of `feed-assets refresh`."""
        if self._on_report is not None:
            self._on_report(report)
        return report

    def analyzed(self, article: ArticleReport) -> ArticleReport:
        """The same for `feed-assets analyze`."""
        if self._on_article is not None:
            self._on_article(article)
        return article
