"""Does any document break the parser? Feeds damaged in every way, and documents made to hurt, each read, judged and published.

    python -m benchmarks.fuzz_parsing [--documents 20000] [--seed 1] [--corpus DIR] [--megabytes 1]

Damaged documents follow from the seed. After them come the hostile ones, of about so many megabytes each. A document fails when anything
but NotAFeed is raised, when reading it takes more than 0.3 s and 3 s per megabyte, when it asks for a file and gets it, when what is read
cannot be stored, or when what is published is not XML. A document that failed is written to a file, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.progress import track

from feed_assets_tests.support.mutate import CORPUS, MB, Document, Reading, damaged, hostile, originals, read

_JUDGED = 20_000  # bytes; of smaller documents no time per megabyte can be told
_SECRET = "what no feed may ever say"


def documents(number: int, seed: int, corpus: Path, megabytes: float, secret: Path) -> Iterator[Document]:
    bodies = originals(corpus)
    yield from (damaged(bodies, seed, place) for place in range(number))
    yield from hostile(megabytes, secret=secret)


def judged(document: Document, reading: Reading) -> tuple[str, ...]:
    return (*reading.wrong, "it got the file that it asked for") if reading.feed and _SECRET in repr(reading.feed) else reading.wrong


def peak_memory() -> float:
    """The most that this process ever had, in megabytes; macOS counts it in bytes, Linux in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (MB if sys.platform == "darwin" else 1000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--megabytes", type=float, default=1.0)
    options = parser.parse_args()
    read(Document("to have everything loaded", b"<rss><item><title>x</title>"))
    readings: Counter[str] = Counter()
    failures: list[tuple[Path, str]] = []
    slowest, slowest_name, before = 0.0, "none", peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret")
        secret.write_text(_SECRET)
        each = documents(options.documents, options.seed, options.corpus, options.megabytes, secret)
        for document in track(each, "reading", total=options.documents, disable=not sys.stdout.isatty()):
            reading = read(document)
            readings[reading.kind] += 1
            pace = reading.seconds * 1000 / (len(document.body) / MB) if len(document.body) > _JUDGED else 0
            if pace > slowest:
                slowest, slowest_name = pace, f"{document.name} ({len(document.body):,} bytes)"
            if wrong := judged(document, reading):
                failures.append((_written(document), f"{document.name}: {'; '.join(wrong)}"))
    refused = readings.pop("not a feed", 0)
    print(f"\n{readings.total() + refused} documents, seed {options.seed}\n")
    print("| | |\n|---|---|")
    print(f"| feeds | {readings.total()} |")
    for kind, count in readings.most_common():
        print(f"| read {kind} | {count} |")
    print(f"| not feeds | {refused} |")
    print(f"| slowest, ms per MB | {slowest:.0f}: {slowest_name} |")
    print(f"| peak memory growth, MB | {peak_memory() - before:.0f} |")
    print(f"| failures | {len(failures)} |")
    for path, what in failures[:20]:
        print(f"\n{path}\n  {what[:500]}")
    return 1 if failures else 0


def _written(document: Document) -> Path:
    with tempfile.NamedTemporaryFile(prefix="fuzz-", suffix=".xml", delete=False) as file:
        file.write(document.body)
    return Path(file.name)


if __name__ == "__main__":
    sys.exit(main())
