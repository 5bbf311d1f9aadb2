"""Articles on their way to an analyzer and back: once each, within the budget, whatever the endpoint does, and shown when they are done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from feed_assets.analysis import ArticleReport, analyze_articles, analyzer_of, outlook
from feed_assets.analyze import ArticleText
from feed_assets.errors import AnalyzerUnusable, SettingsError
from feed_assets.housekeeping import prune, summed
from feed_assets.model import Analysis
from feed_assets.settings import Settings
from feed_assets.store import Store
from feed_assets_tests.analyze.conftest import KEY, openai_settings
from feed_assets_tests.publish.validator import problems
from feed_assets_tests.store.builders import put, store_story
from feed_assets_tests.store.reading import decoded
from feed_assets_tests.support.chat_server import GOOD, ChatServer, Question, Reply, article_of, fails, headline_of, says
from feed_assets_tests.support.clock import Clock
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.refreshing import TABLES, add, refresh_one, table
from feed_assets_tests.support.rows import one_engine


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    running = ChatServer()
    yield running
    running.close()


@pytest.fixture
def openai(chat: ChatServer, database_url: str, tmp_path: Path) -> Settings:
    return openai_settings(tmp_path, chat, DATABASE_URL=database_url)


def stories(store: Store, clock: Clock, count: int, feed_id: str = "news") -> None:
    """Articles `feed_id-0`, the newest, and older ones."""
    with store.begin() as tx:
        put(tx, feed_id)
        for number in range(count):
            store_story(tx, f"{feed_id}-{number}", feed_id, at=clock() - timedelta(minutes=number))


def analyze(store: Store, settings: Settings, clock: Clock, **options: Any) -> list[ArticleReport]:
    return list(analyze_articles(store, settings, analyzer_of(settings), clock=clock, **{"patience": 0} | options))


def rows_by_id(store: Store) -> dict[str, dict[str, Any]]:
    return {row["article_id"]: row for row in table(store, "article_analysis")}


def spent(store: Store) -> dict[str, int]:
    return {row["day"]: row["requests"] for row in table(store, "analysis_spending")}


def test_each_article_is_analysed_once_the_newest_first(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 5)
    one_by_one = openai.model_copy(update={"analysis_concurrency": 1})
    first, again = analyze(store, one_by_one, clock), analyze(store, one_by_one, clock)
    assert [report.article_id for report in first] == [f"news-{number}" for number in range(5)]
    assert {(report.status, report.score) for report in first} == {("done", 42)}
    assert again == []
    assert chat.headlines == [f"Headline news-{number}" for number in range(5)]
    row = rows_by_id(store)["news-0"]
    assert (row["status"], row["score"], row["summary"], decoded(row["facts"])) == ("done", 42, GOOD["summary"], GOOD["facts"])
    assert (row["analyzer"], row["attempts"], row["tokens"], row["analyzed_at"], row["lease_token"]) == ("openai", 1, 100, clock(), None)
    assert [(row["requests"], row["tokens"]) for row in table(store, "analysis_spending")] == [(5, 500)]


def test_another_prompt_has_everything_analysed_anew(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 2)
    analyze(store, openai, clock)
    clock.advance(hours=1)
    chat.always = says(GOOD | {"score": 7})
    other = openai.model_copy(update={"analysis_prompt": "relevance"})
    assert outlook(store, other, analyzer_of(other), now=clock()).queue.due == 2
    assert {report.score for report in analyze(store, other, clock)} == {7}
    assert len(table(store, "article_analysis")) == 4
    with store.read() as tx:
        assert {each.score for each in tx.analyses.of(["news-0", "news-1"]).values()} == {7}


def test_only_the_feeds_that_were_asked_for_and_no_more_than_the_limit(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer
) -> None:
    stories(store, clock, 3)
    stories(store, clock, 3, "other")
    assert [report.article_id for report in analyze(store, openai, clock, feed_ids=["other"], limit=2)] == ["other-0", "other-1"]
    assert len(chat.asked) == 2


def test_old_articles_and_those_of_deleted_feeds_are_left_alone(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)
    stories(store, clock, 1, "gone")
    with store.begin() as tx:
        store_story(tx, "old", at=clock() - timedelta(days=openai.analysis_days, minutes=1))
        tx.feeds.delete("gone", now=clock())
    assert [report.article_id for report in analyze(store, openai, clock)] == ["news-0"]


def test_two_workers_at_once_never_pay_twice_and_never_exceed_the_budget(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer
) -> None:
    stories(store, clock, 30)
    chat.always = Reply(body=says().body, seconds=0.01)
    limited = openai.model_copy(update={"analysis_daily_budget": 21, "analysis_concurrency": 2})
    with ThreadPoolExecutor(3) as workers:
        found = [each.result() for each in [workers.submit(analyze, store, limited, clock) for _ in range(3)]]
    assert len(chat.asked) == 21
    assert len(set(chat.headlines)) == 21
    assert sum(map(len, found)) == 21
    assert spent(store) == {"2026-03-02": 21}
    assert outlook(store, limited, analyzer_of(limited), now=clock()).left == 0
    clock.advance(days=1)
    assert len(analyze(store, limited, clock)) == 9
    assert chat.most_at_once <= 6


def test_asking_once_more_costs_one_more_of_the_budget(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 3)
    chat.always = says("no JSON")
    limited = openai.model_copy(update={"analysis_daily_budget": 4, "analysis_concurrency": 1})
    reports = analyze(store, limited, clock)
    assert len(chat.asked) == 4
    assert sorted(report.status for report in reports) == ["failed", "waiting", "waiting"]
    assert spent(store) == {"2026-03-02": 4}
    waiting = next(report for report in reports if report.status == "waiting")
    assert "ANALYSIS_DAILY_BUDGET" in str(waiting.reason)


@one_engine
def test_a_bad_answer_is_asked_for_once_more_with_the_reason(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)
    chat.replies = [says(GOOD | {"score": 420})]
    assert [report.status for report in analyze(store, openai, clock)] == ["done"]
    assert "score" in chat.asked[1]["messages"][-1]["content"]
    assert spent(store) == {"2026-03-02": 2}


@one_engine
def test_two_bad_answers_are_a_failure_that_is_not_repeated(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)
    chat.always = says("no JSON")
    (report,) = analyze(store, openai, clock)
    assert report.status == "failed" and "not JSON" in str(report.reason)
    clock.advance(days=1)
    assert analyze(store, openai, clock) == []
    assert len(chat.asked) == 2


@one_engine
def test_a_refusal_is_kept_and_holds_up_nobody(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 3)
    chat.always = lambda question: says(None, refusal="Not that.") if headline_of(question).endswith("-1") else says()
    assert sorted(report.status for report in analyze(store, openai, clock)) == ["done", "done", "failed"]
    row = rows_by_id(store)["news-1"]
    assert (row["status"], row["last_error"], row["next_attempt_at"]) == ("failed", "the model refuses: Not that.", None)
    assert analyze(store, openai, clock) == []


@one_engine
def test_an_article_with_passing_trouble_is_tried_again_later_and_later_and_then_given_up(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer
) -> None:
    stories(store, clock, 1)
    chat.always = fails(500)
    waits = []
    while (reports := analyze(store, openai, clock)) and reports[0].status == "waiting":
        waits.append(rows_by_id(store)["news-0"]["next_attempt_at"] - clock())
        assert analyze(store, openai, clock) == []
        clock.now += waits[-1]
    assert waits == [timedelta(minutes=1), timedelta(minutes=4), timedelta(minutes=16)]
    assert [report.status for report in reports] == ["failed"]
    assert len(chat.asked) == openai.analysis_retries + 1
    assert "HTTP 500" in rows_by_id(store)["news-0"]["last_error"]


def test_an_endpoint_that_is_down_costs_no_article_a_try_and_is_left_alone(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer
) -> None:
    stories(store, clock, 10)
    chat.always = fails(503)
    one_by_one = openai.model_copy(update={"analysis_concurrency": 1})
    assert {report.status for report in analyze(store, one_by_one, clock)} == {"waiting"}
    assert len(chat.asked) == 3
    assert spent(store) == {"2026-03-02": 3}
    assert sum(row["attempts"] for row in table(store, "article_analysis")) == 2
    paused_until = outlook(store, openai, analyzer_of(openai), now=clock()).paused_until
    assert paused_until == clock() + timedelta(minutes=5)
    clock.advance(minutes=5)
    chat.always = says()
    assert len(analyze(store, one_by_one, clock)) == 10


@one_engine
def test_a_429_stops_the_run_for_as_long_as_the_endpoint_asks(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 4)
    chat.replies = [fails(429, Retry_After="120")]
    one_by_one = openai.model_copy(update={"analysis_concurrency": 1})
    assert {report.status for report in analyze(store, one_by_one, clock)} == {"waiting"}
    assert len(chat.asked) == 1
    assert outlook(store, openai, analyzer_of(openai), now=clock()).paused_until == clock() + timedelta(seconds=120)
    clock.advance(seconds=120)
    assert {report.status for report in analyze(store, one_by_one, clock)} == {"done"}


@one_engine
def test_a_short_pause_is_waited_out(store: Store, openai: Settings, chat: ChatServer) -> None:
    from feed_assets.refresh import utc_now

    with store.begin() as tx:
        put(tx, "news")
        store_story(tx, "a", at=utc_now())
    chat.replies = [fails(429, Retry_After="0.2")]
    reports = list(analyze_articles(store, openai, analyzer_of(openai), patience=5))
    assert [report.status for report in reports] == ["waiting", "done"]


@one_engine
def test_an_endpoint_that_is_too_slow_is_not_waited_for(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)
    chat.always = Reply(body=says().body, seconds=1)
    hasty = openai.model_copy(update={"analysis_timeout_seconds": 0.1})
    (report,) = analyze(store, hasty, clock)
    assert report.status == "waiting" and "no answer" in str(report.reason)


def test_the_key_is_in_no_table_and_no_error(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    stories(store, clock, 6)
    answers = [
        says(KEY),
        says(GOOD | {"summary": KEY}),
        says(None, refusal=KEY),
        fails(500, KEY),
        fails(400, KEY),
        Reply(body=KEY.encode()),
    ]
    by_headline = {f"Headline news-{number}": answer for number, answer in enumerate(answers)}
    chat.always = lambda question: by_headline[headline_of(question)]
    reports = analyze(store, openai, clock)
    assert len(reports) == 6
    chat.always = fails(401, f"Incorrect API key provided: {KEY}")
    stories(store, clock, 1, "more")
    with pytest.raises(AnalyzerUnusable, match="OPENAI_API_KEY") as error:
        analyze(store, openai, clock)
    stored = [table(store, name) for name in (*TABLES, "article_analysis", "analysis_spending", "signals")]
    said = capfd.readouterr()
    assert KEY in str(chat.keys)
    assert KEY not in repr((stored, reports, error.value, openai, said.out, said.err, caplog.text)) + openai.model_dump_json()


@one_engine
def test_a_key_that_is_refused_ends_the_run_and_costs_no_try(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 20)
    chat.always = fails(401)
    with pytest.raises(AnalyzerUnusable, match="is OPENAI_API_KEY right"):
        analyze(store, openai.model_copy(update={"analysis_concurrency": 1}), clock)
    assert len(chat.asked) == 1
    assert {(row["status"], row["attempts"]) for row in table(store, "article_analysis")} == {("waiting", 0)}
    found = outlook(store, openai, analyzer_of(openai), now=clock())
    assert found.paused_until and found.spent == 1


def test_what_a_dead_worker_held_is_analysed_when_its_lease_has_run_out(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer
) -> None:
    stories(store, clock, 1)
    for _ in range(openai.analysis_retries):
        assert len(die_with_a_claim(store, openai, clock)) == 1
        assert analyze(store, openai, clock) == []
        clock.advance(seconds=openai.lease_seconds)
    assert [report.status for report in analyze(store, openai, clock)] == ["done"]


def test_an_article_that_ends_every_worker_is_given_up(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)
    for _ in range(openai.analysis_retries + 1):
        assert len(die_with_a_claim(store, openai, clock)) == 1
        clock.advance(seconds=openai.lease_seconds)
    assert analyze(store, openai, clock) == []
    assert rows_by_id(store)["news-0"]["status"] == "failed"
    assert chat.asked == []


def die_with_a_claim(store: Store, settings: Settings, clock: Clock) -> list[str]:
    from feed_assets.analysis import version_of

    with store.begin() as tx:
        claimed = tx.analyses.claim(
            version_of(analyzer_of(settings)),
            f"dead-{clock()}",
            now=clock(),
            lease=timedelta(seconds=settings.lease_seconds),
            since=clock() - timedelta(days=1),
            limit=10,
            budget=None,
        )
    return [each.article_id for each in claimed]


def test_a_worker_that_lost_its_lease_writes_nothing(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 1)

    def takes_long(question: Question) -> Reply:
        clock.advance(seconds=openai.lease_seconds)
        die_with_a_claim(store, openai, clock)
        return says()

    chat.always = takes_long
    assert analyze(store, openai, clock) == []
    assert rows_by_id(store)["news-0"]["status"] == "running"


class Stumbling:
    name, prompt_version = "stumbling", "1"

    def analyze(self, article: ArticleText, *, complaint: str | None = None) -> Analysis:
        if article.article_id == "news-0":
            raise ZeroDivisionError("by\nnothing")
        return Analysis(1e9 if article.article_id == "news-1" else 5, "a\x00b\ud800 <b>", ("x" * 10_000,))


def test_an_analyzer_of_others_may_do_what_it_likes(store: Store, settings: Settings, clock: Clock) -> None:
    stories(store, clock, 3)
    found = {report.article_id: report for report in analyze_articles(store, settings, Stumbling(), clock=clock, patience=0)}
    assert "ZeroDivisionError: by nothing" in str(found["news-0"].reason)
    assert "scores are from 0 to 100" in str(found["news-1"].reason)
    assert found["news-2"].status == "done"
    row = rows_by_id(store)["news-2"]
    assert (row["summary"], len(decoded(row["facts"])[0])) == ("a b <b>", 500)


def test_nothing_is_analysed_without_an_analyzer(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"ANALYZER is none.*mock, openai"):
        analyzer_of(settings)


def test_a_pages_text_is_analysed_where_that_is_wanted(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two", "three", base=server.base)))
    refresh_one(store, openai, clock)
    story = "The whole story, told at length. " * 20
    server.publish("/one", f"<html><nav>Menu</nav><article><p>{story}</p></article></html>", Content_Type="text/html")
    server.publish("/two", story, Content_Type="text/plain")
    asked_before = len(server.asked)
    analyze(store, openai, clock)
    assert len(server.asked) == asked_before
    reading = openai.model_copy(update={"analysis_fetch_pages": True, "analysis_prompt": "relevance"})
    chat.asked.clear()
    assert {report.status for report in analyze(store, reading, clock)} == {"done"}
    texts = {headline_of(question): article_of(question)["text"] for question in chat.asked}
    assert texts == {"one": story.strip(), "two": "About two", "three": "About three"}
    asked = server.asked[asked_before:]
    assert sorted(each.path for each in asked) == ["/one", "/three", "/two"]
    assert all(each.headers["user-agent"].startswith("feed_assets/") and "a-im" not in each.headers for each in asked)
    assert [row["busy_token"] for row in table(store, "host_states")] == [None]


@one_engine
def test_pages_on_private_addresses_are_not_fetched(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one", base=server.base)))
    refresh_one(store, openai, clock)
    asked_before = len(server.asked)
    careful = openai.model_copy(update={"analysis_fetch_pages": True, "allow_private_networks": False})
    assert [report.status for report in analyze(store, careful, clock)] == ["done"]
    assert len(server.asked) == asked_before


NAMESPACE = "{https://github.com/feed-assets/feed_assets/analysis}"


def test_analyses_are_in_the_served_xml_of_every_feed_that_carries_the_story(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, server: FeedServer
) -> None:
    shown = openai.model_copy(update={"analysis_in_xml": True})
    for name in ("news", "copy"):
        add(store, clock, server.publish(f"/{name}", rss("one", "two", extra="<language>en</language>")), name)
        refresh_one(store, shown, clock, name)
    before = {row["feed_id"]: row for row in table(store, "cached_feeds")}
    chat.always = says({"score": 12.5, "summary": "Cheap <script>alert(1)</script> & ]]> good", "facts": ["a < b"]})
    clock.advance(minutes=1)
    analyze(store, shown, clock)
    after = {row["feed_id"]: row for row in table(store, "cached_feeds")}
    for name in ("news", "copy"):
        xml = after[name]["xml_content"]
        assert problems(xml) == []
        root = ElementTree.fromstring(xml)
        for item in root.iter("item"):
            assert item.findtext(f"{NAMESPACE}score") == "12.5"
            assert item.findtext(f"{NAMESPACE}summary") == "Cheap &lt;script&gt;alert(1)&lt;/script&gt; &amp; ]]&gt; good"
            assert [fact.text for fact in item.findall(f"{NAMESPACE}fact")] == ["a < b"]
        assert after[name]["etag"] != before[name]["etag"]
        assert after[name]["updated_at"] == clock()
        assert root.findtext("channel/lastBuildDate") == "Mon, 02 Mar 2026 12:01:00 GMT"
        assert root.findtext("channel/language") == "en"
        assert NAMESPACE[1:-1] not in before[name]["xml_content"]
    server.publish("/news", rss("three", "one", "two", extra="<language>en</language>"))
    clock.advance(minutes=1)
    refresh_one(store, shown, clock)
    rebuilt = next(row for row in table(store, "cached_feeds") if row["feed_id"] == "news")["xml_content"]
    assert rebuilt.count("<item>") == 3 and rebuilt.count("<analysis:score>") == 2


def test_without_the_setting_the_served_xml_stays_as_it_was(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, server: FeedServer
) -> None:
    add(store, clock, server.publish("/feed", rss("one", "two")))
    refresh_one(store, openai, clock)
    before = table(store, "cached_feeds")
    clock.advance(minutes=1)
    assert len(analyze(store, openai, clock)) == 2
    assert table(store, "cached_feeds") == before


def test_an_analysis_goes_with_its_article(store: Store, openai: Settings, clock: Clock, chat: ChatServer) -> None:
    stories(store, clock, 2)
    analyze(store, openai, clock)
    clock.advance(days=openai.article_retention_days + 1)
    with store.begin() as tx:
        store_story(tx, "current", at=clock())
    gone = summed(prune(store, openai, now=clock(), pause=lambda _: None))
    assert gone["article_analysis"] == gone["deduped_articles"] > 0
    assert len(table(store, "article_analysis")) == 2 - gone["article_analysis"]
    assert spent(store) == {}


@one_engine
def test_the_instructions_are_the_prompt_that_was_set(
    store: Store, openai: Settings, clock: Clock, chat: ChatServer, tmp_path: Path
) -> None:
    stories(store, clock, 1)
    (tmp_path / "own.txt").write_text("Count the harbours.")
    analyze(store, openai.model_copy(update={"analysis_prompt": str(tmp_path / "own.txt")}), clock)
    assert json.dumps(chat.asked[0]["messages"][0]) == json.dumps({"role": "system", "content": "Count the harbours."})
