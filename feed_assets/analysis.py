"""The analysis of articles: claim -> (fetch pages) -> analyze -> store -> publish. Knows nothing of Dagster.

What waits is told from the tables, newest first. Each claimed article comes with a request of the day's budget; its analysis, the end
of its lease and the XML that shows it are one transaction.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from feed_assets.analyze import Analyzer, ArticleText, AskAgain, BadAnswer, Refused, Unavailable, checked, load_analyzer
from feed_assets.errors import AnalyzerUnusable, SettingsError
from feed_assets.holding import HOST_LEASE, beating
from feed_assets.model import Analysis
from feed_assets.pages import fetch_texts
from feed_assets.parse import plain_text
from feed_assets.plugins import analyzer_names
from feed_assets.publish import recompose_rss
from feed_assets.refresh import Clock, new_token, utc_now
from feed_assets.settings import Settings
from feed_assets.store import AnalysisQueue, AnalysisResult, AnalyzerVersion, CachedFeed, ClaimedArticle, Store, Transaction, day_of

PAUSE = "analysis_paused"  # the signal that says until when nobody is to be asked

_PER_WORKER = 8  # articles claimed at a time
_STORE_SECONDS = 2.0  # and no analysis waits longer than this to be stored
_MOST_REQUESTS = 6  # about one article in one try: for an answer, other ways to ask, and what was wrong with the answer
_BACKOFF = timedelta(minutes=1)
_LONGEST_BACKOFF = timedelta(hours=6)
_FAILURES_TO_PAUSE = 3  # in a row, without an answer between them
_PAUSE = timedelta(minutes=5)
_LONGEST_CONTENT = 60_000  # characters of markup that are made plain
_LOST = "whoever had it analysed was ended each time, before an answer came"


@dataclass(frozen=True, slots=True)
class ArticleReport:
    """What became of one article: `done`, `failed` for good, or `waiting` for another try."""

    article_id: str
    feed_id: str
    headline: str
    url: str | None
    status: str
    score: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """What became of one feed's articles, for Dagster and the terminal."""

    feed_id: str
    articles: Sequence[ArticleReport] = ()
    data_version: str = "none"
    upstream_version: str = "none"  # of the articles, as Dagster was told

    def count(self, status: str) -> int:
        return sum(article.status == status for article in self.articles)

    @property
    def average_score(self) -> float | None:
        scores = [article.score for article in self.articles if article.score is not None]
        return sum(scores) / len(scores) if scores else None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an analysis would find to do."""

    queue: AnalysisQueue
    spent: int  # requests of today
    budget: int | None
    paused_until: datetime | None

    @property
    def left(self) -> int | None:
        return None if self.budget is None else max(self.budget - self.spent, 0)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How one try at an article ended."""

    analysis: Analysis | None = None
    reason: str | None = None
    again_in: timedelta | None = None  # try again; zero: as soon as anybody can
    counted: bool = True  # as one of the article's tries
    sent: bool = True  # its request of the budget was used


def analyzer_of(settings: Settings) -> Analyzer:
    """The analyzer, or what to do about there being none."""
    analyzer = load_analyzer(settings)
    if analyzer is None:
        names = ", ".join(name for name in analyzer_names() if name != "none")
        raise SettingsError(f"ANALYZER is none, so nothing analyses articles; set FEED_ASSETS_ANALYZER to one of: {names}")
    return analyzer


def version_of(analyzer: Analyzer) -> AnalyzerVersion:
    return AnalyzerVersion(analyzer.name, analyzer.prompt_version)


def outlook(store: Store, settings: Settings, analyzer: Analyzer, *, now: datetime, feed_ids: Sequence[str] | None = None) -> Outlook:
    with store.read() as tx:
        queue = tx.analyses.queue(version_of(analyzer), now=now, since=_since(settings, now), feed_ids=feed_ids)
        pause = tx.numbers.signals().get(PAUSE)
        paused_until = pause.noted_at if pause and pause.noted_at > now else None
        return Outlook(queue, tx.analyses.spent(now), settings.analysis_daily_budget or None, paused_until)


def analyze_articles(
    store: Store,
    settings: Settings,
    analyzer: Analyzer,
    *,
    feed_ids: Sequence[str] | None = None,
    limit: int | None = None,
    clock: Clock = utc_now,
    patience: float = 30.0,
) -> Iterator[ArticleReport]:
    """Have what waits analysed, until nothing is due, the budget is spent or the analyzer cannot be used; each report comes after its
    commit. For an article that is due again soon, or an analyzer that asks for a short pause, it waits `patience` seconds in all."""
    run = _Run(store, settings, analyzer, clock)
    left = limit
    ends = time.monotonic() + patience
    with run.held(), ThreadPoolExecutor(settings.analysis_concurrency, thread_name_prefix="analyze") as pool:
        while left is None or left > 0:
            claimed = run.claim(feed_ids, left)
            left = None if left is None else left - len(claimed)
            yield from run.work_off(claimed, pool)
            if run.broken is not None:
                raise run.broken
            resume = run.resumes_at(claimed)
            if resume is not None:
                seconds = (resume - clock()).total_seconds()
                if time.monotonic() + seconds > ends:
                    return
                time.sleep(max(seconds, 0.05))
                run.resume()


def by_feed(store: Store, analyzer: Analyzer, articles: Iterable[ArticleReport], always: Iterable[str] = ()) -> list[AnalysisReport]:
    """A report per feed that had articles analysed, and for those that are to be answered anyhow."""
    found: dict[str, list[ArticleReport]] = {feed_id: [] for feed_id in always}
    for article in articles:
        found.setdefault(article.feed_id, []).append(article)
    if not found:
        return []
    version = version_of(analyzer)
    with store.read() as tx:
        stored = tx.analyses.by_feed(version, list(found))
    reports = []
    for feed_id, each in found.items():
        latest = {article.article_id: article for article in each}  # an article may have been tried twice
        state = stored[feed_id]
        data = f"{version.prompt_version}-{state['done']}-{state['latest_at']:%Y%m%dT%H%M%S.%f}" if state["done"] else "none"
        reports.append(AnalysisReport(feed_id, tuple(latest.values()), data, state["body_sha256"] or "none"))
    return reports


def _since(settings: Settings, now: datetime) -> datetime:
    return now - timedelta(days=settings.analysis_days)


class _Run:
    """One worker's way through the queue."""

    def __init__(self, store: Store, settings: Settings, analyzer: Analyzer, clock: Clock) -> None:
        self.store, self.settings, self.analyzer, self.clock = store, settings, analyzer, clock
        self.broken: AnalyzerUnusable | None = None  # why the analyzer cannot be used at all
        self._token = new_token(clock())
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._budget = settings.analysis_daily_budget or None
        self._silent = 0  # requests in a row that nobody answered
        self._paused_until: datetime | None = None
        self._next_try: datetime | None = None  # of what this run has given back
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Claims are renewed until the end of the block; then what is left of them is given back."""
        try:
            with beating(self._beat, self.settings, self._token):
                yield
        finally:
            with self.store.begin() as tx:
                tx.analyses.release(self._token, now=self.clock())

    def _beat(self) -> None:
        with self.store.begin() as tx:
            tx.analyses.renew(self._token, now=self.clock(), lease=self._lease)
            tx.hosts.renew(self._token, now=self.clock(), lease=HOST_LEASE)

    def claim(self, feed_ids: Sequence[str] | None, left: int | None) -> list[ClaimedArticle]:
        most, now = self.settings.analysis_concurrency * _PER_WORKER, self.clock()
        with self.store.begin() as tx:
            tx.analyses.give_up_lost(now=now, most=self.settings.analysis_retries + 1, reason=_LOST)
            return tx.analyses.claim(
                version_of(self.analyzer),
                self._token,
                now=now,
                lease=self._lease,
                since=_since(self.settings, now),
                limit=most if left is None else min(most, left),
                budget=self._budget,
                feed_ids=feed_ids,
            )

    def work_off(self, claimed: Sequence[ClaimedArticle], pool: ThreadPoolExecutor) -> Iterator[ArticleReport]:
        if not claimed:
            return
        day = day_of(self.clock())
        texts = self._pages(claimed)
        asked = {pool.submit(self._ask, article, texts.get(article.article_id, ""), day): article for article in claimed}
        pending: set[Future[_Verdict]] = set(asked)
        try:
            while pending:
                done, pending = wait(pending, timeout=_STORE_SECONDS)
                if done:
                    yield from self._store([(article, each.result()) for each, article in asked.items() if each in done], day)
        finally:
            for each in pending:
                each.cancel()

    def resumes_at(self, claimed: Sequence[ClaimedArticle]) -> datetime | None:
        """When to go on; None for at once."""
        if self._paused_until is not None:
            return self._paused_until
        if claimed:
            return None
        return self._next_try or self.clock() + timedelta(days=1)  # nothing is left to be done

    def resume(self) -> None:
        self._paused_until, self._next_try, self._silent = None, None, 0

    def _pages(self, claimed: Sequence[ClaimedArticle]) -> Mapping[str, str]:
        if not self.settings.analysis_fetch_pages:
            return {}
        urls = {article.article_id: article.url for article in claimed if article.url and article.url.startswith(("http://", "https://"))}
        return fetch_texts(self.store, self.settings, self._token, urls, self.clock) if urls else {}

    def _ask(self, article: ClaimedArticle, page: str, day: str) -> _Verdict:
        """Ask until there is an answer or a reason why there is none. Runs in a thread; every request was paid for before."""
        text = _text_of(article, page)
        complaint: str | None = None
        paid = day == day_of(self.clock())  # not on the day before
        for number in range(_MOST_REQUESTS):
            if self.broken is not None or self._paused_until is not None:
                return _Verdict(
                    reason="the analyzer is left alone for now", again_in=timedelta(0), counted=False, sent=number > 0 or not paid
                )
            if not paid and not self._pay():
                reason = "today's ANALYSIS_DAILY_BUDGET is spent"
                return _Verdict(reason=reason, again_in=timedelta(0), counted=False)
            paid = False
            try:
                analysis = checked(self.analyzer.analyze(text, complaint=complaint))
            except AskAgain:
                continue
            except BadAnswer as error:
                if complaint is not None:
                    return self._answered(_Verdict(reason=self._safe(error)))
                complaint = self._safe(error)
            except Refused as error:
                return self._answered(_Verdict(reason=self._safe(error)))
            except Unavailable as error:
                return self._unanswered(article, error)
            except AnalyzerUnusable as error:
                self.broken = self.broken or AnalyzerUnusable(self._safe(error))
                return _Verdict(reason=self._safe(error), again_in=timedelta(0), counted=False)  # as soon as that is put right
            except Exception as error:  # somebody else's code
                return _Verdict(reason=f"the analyzer stumbled over this article ({type(error).__name__}: {self._safe(error)})")
            else:
                return self._answered(_Verdict(analysis))
        return self._answered(_Verdict(reason=complaint or "the analyzer wants to be asked in ever other ways"))

    def _pay(self) -> bool:
        with self.store.begin() as tx:
            return tx.analyses.spend(self.clock(), budget=self._budget)

    def _answered(self, verdict: _Verdict) -> _Verdict:
        with self._lock:
            self._silent = 0
        return verdict

    def _unanswered(self, article: ClaimedArticle, error: Unavailable) -> _Verdict:
        """An article's own trouble, or everybody's: then the article's tries do not count."""
        with self._lock:
            self._silent += 1
            down = self._silent >= _FAILURES_TO_PAUSE
            pause = error.retry_after if error.retry_after is not None else _PAUSE if down else None
            if pause is not None:
                self._paused_until = max(self._paused_until or self.clock(), self.clock() + pause)
        if pause is not None:
            return _Verdict(reason=self._safe(error), again_in=pause, counted=False)
        if article.attempts > self.settings.analysis_retries:
            return _Verdict(reason=self._safe(error))
        return _Verdict(reason=self._safe(error), again_in=min(_BACKOFF * 4 ** (article.attempts - 1), _LONGEST_BACKOFF))

    def _safe(self, error: Exception) -> str:
        """What an error says, in one line and without the key."""
        key = self.settings.openai_api_key.get_secret_value()
        line = " ".join(str(error).split())
        return (line.replace(key, "***") if key else line)[:500]

    def _store(self, verdicts: Sequence[tuple[ClaimedArticle, _Verdict]], day: str) -> list[ArticleReport]:
        now = self.clock()
        results = [_result(article, verdict, now) for article, verdict in verdicts]
        with self.store.begin() as tx:
            tokens = sum(verdict.analysis.tokens for _, verdict in verdicts if verdict.analysis)
            tx.analyses.account(day, unsent=sum(not verdict.sent for _, verdict in verdicts), tokens=tokens)
            ours = tx.analyses.fence(self._token)
            results = [result for result in results if result.article_id in ours]
            tx.analyses.save(self._token, results, now=now)
            if self.settings.analysis_in_xml:
                _republish(tx, self.settings, [result.article_id for result in results if result.analysis], now)
            if self.broken is not None or self._paused_until is not None:
                tx.numbers.signal(PAUSE, at=self._paused_until or now + _PAUSE)
        again = [result.next_attempt_at for result in results if result.next_attempt_at is not None]
        self._next_try = min([*again, *([self._next_try] if self._next_try else [])], default=None)
        return [_report(article, result) for result in results for article, _ in verdicts if article.article_id == result.article_id]


def _text_of(article: ClaimedArticle, page: str) -> ArticleText:
    """What the feed says, or what the page says if that is more."""
    own = plain_text(article.content[:_LONGEST_CONTENT])
    text = page if len(page) > len(own) else own
    return ArticleText(article.article_id, article.headline, article.source, article.url, article.published_at, text)


def _result(article: ClaimedArticle, verdict: _Verdict, now: datetime) -> AnalysisResult:
    attempts = article.attempts - (not verdict.counted)
    if verdict.analysis is not None:
        return AnalysisResult(article.article_id, "done", attempts, verdict.analysis)
    again_at = now + verdict.again_in if verdict.again_in is not None else None
    status = "waiting" if again_at else "failed"
    return AnalysisResult(article.article_id, status, attempts, last_error=verdict.reason, next_attempt_at=again_at)


def _report(article: ClaimedArticle, result: AnalysisResult) -> ArticleReport:
    score = result.analysis.score if result.analysis else None
    return ArticleReport(article.article_id, article.feed_id, article.headline, article.url, result.status, score, result.last_error)


def _republish(tx: Transaction, settings: Settings, article_ids: Sequence[str], now: datetime) -> None:
    """The XML of all feeds that carry these articles, anew under the heads that it has. One that was never built comes with its feed."""
    feed_ids = sorted({feed_id for _, feed_id in tx.articles.carried(article_ids)})
    before = tx.articles.locked_editions(feed_ids)
    latest = tx.articles.latest(list(before), items=settings.feed_xml_items, analyses=True)
    rows = []
    for cached in tx.reading.cached(list(before)):
        document = recompose_rss(cached.xml_header, latest.get(cached.feed_id, []))
        if document.at(cached.updated_at).etag == cached.etag:
            continue
        # Never of the same second as the version before: whoever asks by If-Modified-Since could not tell them apart.
        built_at = max(now.replace(microsecond=0), cached.updated_at + timedelta(seconds=1))
        rendered = document.at(built_at)
        refs = [item.article_id for item in latest.get(cached.feed_id, [])]
        rows.append(CachedFeed(cached.feed_id, rendered.header, refs, rendered.xml, rendered.etag, cached.created_at, built_at))
    tx.articles.save_cached(rows)
