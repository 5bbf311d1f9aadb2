"""From the name of an analyzer to the analyzer: ours, those of installed packages, and what is said about the others."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feed_assets.analyze import Analyzer, ArticleText, load_analyzer
from feed_assets.errors import AnalyzerUnusable, SettingsError
from feed_assets_tests.conftest import make_settings

ARTICLE = ArticleText("a1", "A harbour", "News", None, datetime(2026, 3, 2, tzinfo=UTC), "It was built. It is new. Ships come.")
PLUGIN = """
from feed_assets.model import Analysis

class Short:
    name, prompt_version = "short", "3"

    def __init__(self, settings):
        self.limit = settings.analysis_concurrency

    def analyze(self, article, *, complaint=None):
        return Analysis(min(len(article.text), 100), article.headline)

def broken(settings):
    raise OSError("the moon\\nis full")
"""


def load(home: Path, name: str, **values: object) -> Analyzer:
    analyzer = load_analyzer(make_settings(home, ANALYZER=name, **values))
    assert analyzer is not None
    return analyzer


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with analyzers, as pip would have installed it."""
    folder = tmp_path / "site-packages"
    about = folder / "short_analyzer-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "short_analyzer.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: short-analyzer\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[feed_assets.analyzers]\nshort = short_analyzer:Short\nbroken = short_analyzer:broken\nmissing = short_analyzer:missing\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "short_analyzer", raising=False)


def test_none_is_no_analyzer(tmp_path: Path) -> None:
    assert load_analyzer(make_settings(tmp_path)) is None


def test_an_analyzer_of_an_installed_package_is_found_by_its_name(installed: None, tmp_path: Path) -> None:
    analyzer = load(tmp_path, "short")
    assert (analyzer.name, analyzer.prompt_version) == ("short", "3")
    assert analyzer.analyze(ARTICLE).summary == "A harbour"


def test_an_unknown_analyzer_is_refused_with_those_there_are(installed: None, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there are none, mock, openai, broken, missing, short") as error:
        load(tmp_path, "magic")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["broken", "missing"])
def test_an_analyzer_that_cannot_be_made_is_named_in_one_line(installed: None, tmp_path: Path, name: str) -> None:
    with pytest.raises(AnalyzerUnusable, match=name) as error:
        load(tmp_path, name)
    assert len(str(error.value).splitlines()) == 1


def test_the_mock_always_says_the_same_of_the_same_article(tmp_path: Path) -> None:
    first, again = load(tmp_path, "mock").analyze(ARTICLE), load(tmp_path, "mock").analyze(ARTICLE)
    assert first == again
    assert 0 <= first.score <= 100
    assert (first.summary, first.facts) == ("It was built.", ("It has 8 words.", "It is new.", "Ships come."))


def test_the_mock_tells_articles_apart(tmp_path: Path) -> None:
    mock = load(tmp_path, "mock")
    scores = {mock.analyze(replace(ARTICLE, headline=f"Story {number}")).score for number in range(12)}
    assert len(scores) > 6


def test_the_mock_takes_an_article_of_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "mock").analyze(replace(ARTICLE, headline="", text="")).summary == "Untitled"
