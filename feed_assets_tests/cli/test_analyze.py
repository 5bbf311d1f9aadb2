"""`feed-assets analyze`: through the Dagster job, with what it did per feed."""

from __future__ import annotations

import pytest

from feed_assets_tests.analyze.conftest import KEY
from feed_assets_tests.support.chat_server import ChatServer, fails
from feed_assets_tests.support.command_line import Run, assert_failed
from feed_assets_tests.support.feed_server import FeedServer, rss


def test_without_an_analyzer_it_says_so(run: Run) -> None:
    assert_failed(run("analyze"), 2, "ANALYZER is none", "mock, openai")


def test_an_unknown_analyzer_is_refused_with_those_there_are(run: Run) -> None:
    assert_failed(run("analyze", ANALYZER="magic"), 2, "there are none, mock, openai")


def test_it_analyses_what_waits_once_within_limit_and_budget(ready: Run, server: FeedServer) -> None:
    ready("feed", "add", server.publish("/feed", rss("one", "two", "three", "four")), "--id", "news")
    ready("refresh", "news")
    mock = {"ANALYZER": "mock", "ANALYSIS_DAILY_BUDGET": "3"}
    first, second = ready("analyze", "news", "--limit", "1", "--json", **mock), ready("analyze", **mock)
    assert (first.code, first.err) == (0, "")
    (row,) = first.json()
    assert (row["feed_id"], row["analyzed"], row["failed"], row["waiting"]) == ("news", 1, 0, 0)
    assert 0 <= row["average_score"] <= 100
    assert second.code == 0
    assert [line.split()[:4] for line in second.out.splitlines()] == [["feed", "analysed", "failed", "waiting"], ["news", "2", "0", "0"]]
    assert "1 more wait, but today's budget is spent (3 requests" in second.err
    third = ready("analyze", "--all", "--json", **mock | {"ANALYSIS_DAILY_BUDGET": "0"})
    assert third.json()[0]["analyzed"] == 1
    assert ready("analyze", **mock).out == "nothing to do: no article waits to be analysed\n"


def test_what_the_endpoint_complains_of_is_told_in_one_line_without_the_key(ready: Run, server: FeedServer) -> None:
    chat = ChatServer()
    chat.always = fails(401, f"Incorrect API key provided: {KEY}")
    ready("feed", "add", server.publish("/feed", rss("one")), "--id", "news")
    ready("refresh", "news")
    ran = ready("analyze", ANALYZER="openai", OPENAI_BASE_URL=chat.base, OPENAI_API_KEY=KEY, OPENAI_MODEL="tiny")
    chat.close()
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("error: HTTP 401 from 127.0.0.1") and "is OPENAI_API_KEY right?" in ran.err
    assert chat.keys and KEY not in ran.out + ran.err
    assert KEY not in ready("config", OPENAI_API_KEY=KEY).out


@pytest.mark.parametrize(
    ("arguments", "words"), [(("nobody",), "there is no feed 'nobody'"), (("news", "--all"), "either --all or which feeds")]
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: tuple[str, ...], words: str) -> None:
    ran = run("analyze", *arguments, ANALYZER="mock")
    assert ran.code in (1, 2) and words in ran.err
