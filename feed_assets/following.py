"""The declarative mode: feeds follow the file that FEEDS_FILE names, at each start and whenever the file changes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from feed_assets import catalog
from feed_assets.errors import UsageError
from feed_assets.feeds_files import read_feeds_file
from feed_assets.settings import Settings
from feed_assets.store import Store


class FeedsFile:
    """Remembers what it has read, so that looking again costs next to nothing."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = Path(settings.feeds_file).expanduser() if settings.feeds_file else None
        self._read: tuple[int, int] | None = None

    def follow(self, store: Store, *, now: datetime) -> catalog.Imported | None:
        """Apply the file if it was not yet; what became of its rows, or None when there is nothing to do."""
        if self._path is None:
            return None
        try:
            state = self._path.stat()
        except OSError as error:
            raise UsageError(f"cannot read FEEDS_FILE {self._path}: {(error.strerror or str(error)).lower()}") from None
        if (state.st_mtime_ns, state.st_size) == self._read:
            return None
        rows = read_feeds_file(self._path)
        self._read = state.st_mtime_ns, state.st_size  # a file that cannot be read is tried, and complained about, again
        return catalog.follow_file(store, self._settings, rows, now=now, prune=self._settings.feeds_file_prune)


def in_words(done: catalog.Imported) -> list[str]:
    """What a log should say of it: a line of counts when anything changed, and one per row that is not right."""
    counts = {"added": done.added, "changed": done.changed, "removed": done.removed}
    told = [f"{len(ids)} {what} ({', '.join(ids[:5])}{' ...' if len(ids) > 5 else ''})" for what, ids in counts.items() if ids]
    lines = [f"feeds follow FEEDS_FILE: {', '.join(told)}"] if told else []
    return lines + [f"FEEDS_FILE: not followed: {name}: {reason}" for name, reason in done.rejected]
