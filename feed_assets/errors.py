"""The one exception tree.

Every error that a person can cause or cure is a `FeedAssetsError` whose text is one line that says what to do.
Edges (command line, HTTP API, Dagster) turn these into exit codes, statuses and failures; nothing else does.
"""

from __future__ import annotations


class FeedAssetsError(Exception):
    """Something went wrong that has a plain reason. Exit code 1, HTTP 500."""

    exit_code = 1
    http_status = 500


class UsageError(FeedAssetsError):
    """What was asked makes no sense as it stands: a bad URL, an interval out of range. Exit code 2, HTTP 400."""

    exit_code = 2
    http_status = 400


class SettingsError(UsageError):
    """A setting is unknown or has a value that cannot be used."""


class UnknownFeed(FeedAssetsError):
    """No such feed, or it was deleted."""

    http_status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no feed {name!r}; `feed-assets feed list` shows the ones there are")


class DuplicateFeed(FeedAssetsError):
    """The feed exists already, under this or another name."""

    http_status = 409


class FeedNotReady(FeedAssetsError):
    """The feed cannot be used that way now: it is disabled, or nothing was published yet."""

    http_status = 409


class StoreError(FeedAssetsError):
    """The database cannot be used: unreachable, locked for too long, not a database, or of a newer version."""

    http_status = 503


class Unstorable(StoreError):
    """The database is well and refuses what was to be stored: one feed's trouble, not everybody's."""


class NotAFeed(FeedAssetsError):
    """The document that came is not a feed; the text says what it seems to be."""


class ForbiddenAddress(FeedAssetsError):
    """The URL leads to an address that feed_assets does not fetch from."""


class AnalyzerUnusable(FeedAssetsError):
    """The analyzer cannot be used as it is set up: its key is refused, there is no such model, it cannot be loaded."""
