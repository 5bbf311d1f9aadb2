"""How fast feeds are read, beside plain feedparser and bare fastfeedparser, on the same documents in one run.

    python -m benchmarks.parsing [--corpus ../shared/corpus] [--repeat 5] [--entries 100]

Ours is all that a poll does with a document before it asks the store: telling what it is, parsing, and an identity and a
fingerprint for every entry that MAX_ARTICLES_PER_FEED (--entries) lets in. CPU seconds of this process, the best of the repeats for
each document.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import fastfeedparser
import feedparser
import nh3

from feed_assets.decide.identity import draft
from feed_assets.errors import NotAFeed
from feed_assets.parse import parse_document

URL = "https://news.example/feed"


def ours(body: bytes, entries: int) -> None:
    with contextlib.suppress(NotAFeed):
        for entry in parse_document(body, url=URL, headers={}, max_entries=entries).entries:
            draft(entry)


def theirs(body: bytes) -> None:
    with contextlib.suppress(Exception):  # it raises for what it cannot read
        fastfeedparser.parse(body)


def plain(body: bytes) -> None:
    feedparser.parse(io.BytesIO(body))


def cpu_seconds(readers: Sequence[Callable[[bytes], None]], documents: Sequence[bytes], repeat: int) -> list[float]:
    """For each reader the sum of its best times, taken in turns: what else the machine does at a moment hits all of them."""
    best = [[float("inf")] * len(documents) for _ in readers]
    for _ in range(repeat):
        for reader, times in zip(readers, best, strict=True):
            for place, body in enumerate(documents):
                before = time.process_time_ns()
                reader(body)
                times[place] = min(times[place], (time.process_time_ns() - before) / 1e9)
    return [sum(times) for times in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "corpus")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--entries", type=int, default=100, help="MAX_ARTICLES_PER_FEED")
    options = parser.parse_args()
    documents = [path.read_bytes() for path in sorted(options.corpus.rglob("*")) if path.is_file() and path.suffix != ".jsonl"]
    if not documents:
        raise SystemExit(f"there are no documents in {options.corpus}; name a folder of feeds with --corpus")
    sanitized: list[str] = []
    nh3_clean, nh3.clean = nh3.clean, lambda text, **_: sanitized.append(text) or text
    readers = {"feed_assets": lambda body: ours(body, options.entries), "fastfeedparser": theirs, "feedparser": plain}
    times = dict(zip(readers, cpu_seconds(list(readers.values()), documents, options.repeat), strict=True))
    nh3.clean = nh3_clean
    size = sum(map(len, documents)) / 1e6
    print(f"{len(documents)} documents, {size:.1f} MB")
    for name, seconds in times.items():
        print(f"{name:<15} {seconds:7.3f} s  {size / seconds:7.1f} MB/s")
    print(f"feed_assets is {times['feedparser'] / times['feed_assets']:.1f} times as fast as feedparser")
    print(f"feed_assets has {times['fastfeedparser'] / times['feed_assets']:.2f} of the speed of fastfeedparser")
    print(f"texts sanitized on the way: {len(sanitized)}")


if __name__ == "__main__":
    main()
