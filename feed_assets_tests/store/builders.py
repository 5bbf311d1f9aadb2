"""Rows for the store suite in few words, calls that start at the same moment, and other processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from feed_assets.model import Article, Entry, Feed, FetchResult, Item, ItemKeys, Outcome, Schedule
from feed_assets.store import Transaction

T = TypeVar("T")

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
LEASE = timedelta(minutes=10)
CHECKOUT = Path(__file__).resolve().parents[2]


def make_feed(feed_id: str = "news", **columns: Any) -> Feed:
    usual = {"url": f"https://{feed_id}.example/feed", "source_name": feed_id.title(), "created_at": NOW, "updated_at": NOW}
    return Feed(feed_id, **usual | columns)


def put(tx: Transaction, *feeds: Feed | str, due: datetime = NOW) -> None:
    """Add feeds (a name stands for a feed with nothing special), all due at the same time."""
    tx.feeds.put([make_feed(each) if isinstance(each, str) else each for each in feeds], next_run_at=due, reason="new feed")


def get_feed(tx: Transaction, feed_id: str = "news") -> Feed:
    found = tx.feeds.get(feed_id)
    assert found is not None
    return found


def get_schedule(tx: Transaction, feed_id: str = "news") -> Schedule:
    found = tx.schedules.get(feed_id)
    assert found is not None
    return found


def save_schedule(tx: Transaction, feed_id: str = "news", **columns: Any) -> None:
    tx.schedules.save([Schedule(feed_id, **columns)])


def claim_due(tx: Transaction, token: str = "batch", *, now: datetime = NOW, lease: timedelta = LEASE, limit: int = 100) -> list[str]:
    return tx.schedules.claim_due(token, now=now, lease=lease, limit=limit)


def make_item(name: str = "a", *, says: str = "first", **entry: Any) -> Item:
    return Item(f"hash-{name}", f"content-{name}-{says}", Entry(guid=f"guid-{name}", title=f"Title {name}", content=says, **entry))


def save_items(tx: Transaction, *items: tuple[str, str, datetime, Item]) -> None:
    tx.items.save((*each, ItemKeys()) for each in items)


def known(tx: Transaction, *feed_ids: str) -> dict[str, dict[str, str]]:
    """feed_id -> item_hash -> content_hash of what is stored."""
    return {feed_id: {i.item_hash: i.content_hash for i in items} for feed_id, items in tx.items.all_known(feed_ids).items()}


def make_article(article_id: str = "a", feed_id: str = "news", **columns: Any) -> Article:
    usual = {
        "url": f"https://news.example/{article_id}",
        "canonical_url": f"news.example/{article_id}",
        "headline": f"Headline {article_id}",
        "source": "News",
        "published_at": NOW,
        "content": "text",
        "fetched_at": NOW,
    }
    return Article(article_id=article_id, feed_id=feed_id, **usual | columns)


def make_result(feed_id: str = "news", *, at: datetime = NOW, body: bytes | None = b"<rss/>", **values: Any) -> FetchResult:
    usual = {"outcome": Outcome.SUCCESS, "status_code": 200, "headers": {"content-type": "application/rss+xml"}}
    return FetchResult(feed_id, f"https://{feed_id}.example/feed", at, body=body, **usual | values)


def make_history(fetch_id: str = "f1", feed_id: str = "news", *, at: datetime = NOW, **columns: Any) -> dict[str, Any]:
    usual = {
        "status_code": 200,
        "outcome": "success",
        "articles_found": 1,
        "articles_new": 1,
        "bytes": 10,
        "duration_ms": 5,
        "error_message": None,
        "run_id": None,
    }
    return {"fetch_id": fetch_id, "feed_id": feed_id, "fetch_time": at} | usual | columns


def store_story(tx: Transaction, name: str, feed_id: str = "news", *, at: datetime = NOW, article_id: str | None = None) -> None:
    """An item, its article and the link between them, as a refresh at that moment leaves them."""
    item = make_item(name)
    save_items(tx, (feed_id, f"fetch-{name}", at, item))
    tx.articles.save([make_article(article_id or name, feed_id, published_at=at, fetched_at=at)])
    tx.articles.save_sources([(article_id or name, feed_id, item.item_hash)])


def stored_responses(tx: Transaction, *feed_ids: str) -> list[tuple[str, FetchResult]]:
    return tx.items.bodies(tx.items.responses(feed_ids))


def together(*calls: Callable[[], T]) -> list[T]:
    """Run the calls at the same moment, each in a thread; their results in order."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [running.result() for running in [pool.submit(run, call) for call in calls]]


def start_python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs `script` with `sys.argv[1:]` = arguments and can import feed_assets."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_python(*commands: tuple[str, ...]) -> list[str]:
    """What processes that run side by side print; each command is a script and its arguments."""
    running = [start_python(*command) for command in commands]
    finished = [(process, *process.communicate(timeout=30)) for process in running]
    for process, _, complaint in finished:
        assert process.returncode == 0, complaint
    return [printed for _, printed, _ in finished]
