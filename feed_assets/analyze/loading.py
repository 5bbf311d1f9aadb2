"""From the setting ANALYZER to the analyzer."""

from __future__ import annotations

from collections.abc import Callable

from feed_assets.analyze.analyzer import Analyzer
from feed_assets.analyze.mock import MockAnalyzer
from feed_assets.analyze.openai import OpenAIAnalyzer
from feed_assets.analyze.prompts import load_prompt
from feed_assets.errors import AnalyzerUnusable, SettingsError
from feed_assets.plugins import analyzer_names, installed_analyzer
from feed_assets.settings import Settings

Factory = Callable[[Settings], Analyzer]

_OWN: dict[str, Factory] = {
    "mock": lambda settings: MockAnalyzer(load_prompt(settings.analysis_prompt)),
    "openai": lambda settings: OpenAIAnalyzer(settings, load_prompt(settings.analysis_prompt)),
}


def load_analyzer(settings: Settings) -> Analyzer | None:
    """The analyzer that ANALYZER names; none for `none`."""
    name = settings.analyzer
    if name == "none":
        return None
    factory = _OWN.get(name) or _installed(name)
    try:
        return factory(settings)
    except SettingsError:
        raise
    except Exception as error:  # somebody else's code
        raise AnalyzerUnusable(f"the analyzer {name} cannot be made: {type(error).__name__}: {_one_line(error)}") from None


def _installed(name: str) -> Factory:
    found = installed_analyzer(name)
    if found is None:
        raise SettingsError(f"there is no analyzer {name!r}; there are {', '.join(analyzer_names())}")
    try:
        factory: Factory = found.load()
    except Exception as error:
        raise AnalyzerUnusable(f"the analyzer {name} ({found.value}) cannot be loaded: {_one_line(error)}") from None
    return factory


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
