"""Who else takes part in `benchmarks/throughput.py`: other readers, each told of the feeds in its own way.

python -m benchmarks.peers bare|reader FOLDER      refresh the feeds that are listed in FOLDER/urls
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

WORKERS = 20


class Contender(Protocol):
    name: str

    claim_seconds: float  # CPU spent on the last round before its processes

    def round(self) -> tuple[list[list[str]], dict[str, str]]:
        """Everything ready for the next round: the commands of its processes, and what they need in their environment."""

    def stored(self) -> int:
        """Articles stored so far."""

    def events(self) -> int:
        """Rows in Dagster's event log."""

    def close(self) -> None: ...


class Bare:
    """`requests` in threads, with the validators; nothing parsed, nothing stored. What HTTP costs in Python."""

    name = "bare requests"
    claim_seconds = 0.0

    def __init__(self, urls: Sequence[str], folder: Path) -> None:
        self._folder = folder
        (folder / "urls").write_text("\n".join(urls))

    def round(self) -> tuple[list[list[str]], dict[str, str]]:
        return [[sys.executable, "-m", "benchmarks.peers", "bare", str(self._folder)]], {}

    def stored(self) -> int:
        return 0

    def events(self) -> int:
        return 0

    def close(self) -> None: ...


class Reader(Bare):
    """lemon24/reader, with as many workers, into SQLite."""

    name = "reader"

    def round(self) -> tuple[list[list[str]], dict[str, str]]:
        return [[sys.executable, "-m", "benchmarks.peers", "reader", str(self._folder)]], {}

    def stored(self) -> int:
        return _rows(self._folder / "reader.sqlite", "entries")


class Newsboat(Bare):
    """newsboat, where it is installed, with as many threads, into SQLite."""

    name = "newsboat"

    def __init__(self, urls: Sequence[str], folder: Path) -> None:
        super().__init__(urls, folder)
        (folder / "config").write_text(f"reload-threads {WORKERS}\nauto-reload no\nmax-items 0\n")

    @staticmethod
    def is_there() -> bool:
        return shutil.which("newsboat") is not None

    def round(self) -> tuple[list[list[str]], dict[str, str]]:
        files = {"-u": "urls", "-c": "cache.db", "-C": "config"}
        return [["newsboat", *(word for flag, name in files.items() for word in (flag, str(self._folder / name))), "-x", "reload"]], {}

    def stored(self) -> int:
        return _rows(self._folder / "cache.db", "rss_item")


def _rows(path: Path, table: str) -> int:
    if not path.exists():
        return 0
    with sqlite3.connect(path) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # a name of ours


def _bare(folder: Path) -> None:
    import requests

    known = folder / "etags.json"
    etags: dict[str, str] = json.loads(known.read_text()) if known.exists() else {}
    session = requests.Session()
    session.mount("http://", requests.adapters.HTTPAdapter(pool_connections=1000, pool_maxsize=WORKERS))

    def get(url: str) -> tuple[str, str]:
        answer = session.get(url, headers={"If-None-Match": etags[url]} if url in etags else {}, timeout=30)
        _ = answer.content
        return url, answer.headers["ETag"]

    with ThreadPoolExecutor(WORKERS) as pool:
        known.write_text(json.dumps(dict(pool.map(get, (folder / "urls").read_text().split()))))


def _reader(folder: Path) -> None:
    from reader import make_reader

    feeds = make_reader(str(folder / "reader.sqlite"))
    if not feeds.get_feed_counts().total:
        for url in (folder / "urls").read_text().split():
            feeds.add_feed(url)
    feeds.update_feeds(workers=WORKERS, scheduled=False)


if __name__ == "__main__":
    {"bare": _bare, "reader": _reader}[sys.argv[1]](Path(sys.argv[2]))
