"""Which analyzers there are, by name: those that come with feed_assets, and those that installed packages add. Loads none of them."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

ANALYZERS_GROUP = "feed_assets.analyzers"
OWN_ANALYZERS = ("none", "mock", "openai")


def installed_analyzer(name: str) -> EntryPoint | None:
    """The entry point of a package that adds this analyzer."""
    return next(iter(entry_points(group=ANALYZERS_GROUP, name=name)), None)


def analyzer_names() -> list[str]:
    return [*OWN_ANALYZERS, *sorted(entry_points(group=ANALYZERS_GROUP).names - set(OWN_ANALYZERS))]
