"""Analyses as programs see them: with their articles, the latest of each, and as a bound on what is asked for."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from feed_assets.model import Analysis
from feed_assets.store import AnalysisResult, AnalyzerVersion, Store
from feed_assets_tests.api.conftest import Client
from feed_assets_tests.store.builders import NOW, make_article, put, store_story

SCORES = {"low": 10.0, "middle": 50.0, "high": 90.5}


def analyzed(store: Store, *, prompt: str = "1", hours: float = 0, **scores: float) -> None:
    """These articles have these scores, by a version of an analyzer."""
    version, at = AnalyzerVersion("mock", prompt), NOW + timedelta(hours=hours)
    with store.begin() as tx:
        tx.analyses.claim(version, "token", now=at, lease=timedelta(minutes=1), since=NOW, limit=99, budget=None)
        results = [AnalysisResult(name, "done", 1, Analysis(score, f"About <b>{name}</b>", ("A fact.",))) for name, score in scores.items()]
        tx.analyses.save("token", results, now=at)
        tx.analyses.release("token", now=at)


@pytest.fixture
def press(client: Client, store: Store) -> Client:
    with store.begin() as tx:
        put(tx, "news")
        for name in (*SCORES, "none"):
            store_story(tx, name)
            tx.articles.save([make_article(name, canonical_url=f"https://news.example/{name}")])
    analyzed(store, **SCORES)
    return client


def get(client: Client, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_article_comes_with_its_analysis_and_one_without_has_none(press: Client) -> None:
    found = {each["article_id"]: each["analysis"] for each in get(press, "/api/articles")["articles"]}
    assert found["none"] is None
    assert found["low"] == {
        "score": 10.0,
        "summary": "About <b>low</b>",
        "facts": ["A fact."],
        "analyzer": "mock",
        "prompt_version": "1",
        "analyzed_at": "2026-03-02T12:00:00Z",
    }
    assert get(press, "/api/item?url=https://news.example/low")["analysis"] == found["low"]


def test_the_latest_analysis_counts(press: Client, store: Store) -> None:
    analyzed(store, prompt="2", hours=1, low=95.0, high=5.0)
    found = {each["article_id"]: each["analysis"] for each in get(press, "/api/articles?max_score=60")["articles"]}
    assert {name: each and each["score"] for name, each in found.items()} == {"none": None, "middle": 50.0, "high": 5.0}
    assert found["high"]["prompt_version"] == "2"


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        ("100", {"low", "middle", "high", "none"}),
        ("90.5", {"low", "middle", "high", "none"}),
        ("50", {"low", "middle", "none"}),
        ("0", {"none"}),
    ],
)
def test_articles_over_the_score_are_left_out(press: Client, most: str, expected: set[str]) -> None:
    assert {each["article_id"] for each in get(press, f"/api/articles?max_score={most}")["articles"]} == expected


@pytest.mark.parametrize(
    ("name", "most", "status"), [("high", "90", 404), ("high", "90.5", 200), ("none", "0", 200), ("low", "", 200), ("nobody", "9", 404)]
)
def test_an_item_over_the_score_is_not_found(press: Client, name: str, most: str, status: int) -> None:
    answer = press.get(f"/api/item?url=https://news.example/{name}&max_score={most}")
    assert answer.status_code == status
    if name == "high" and status == 404:
        assert answer.json()["detail"].endswith("has a score of 90.5, more than 90")


def test_an_analysis_is_seen_within_two_seconds_of_its_commit(press: Client, store: Store) -> None:
    get(press, "/api/articles")
    analyzed(store, prompt="3", hours=2, none=33.0)
    began = time.monotonic()
    while get(press, "/api/item?url=https://news.example/none")["analysis"] is None:
        assert time.monotonic() - began < 2
