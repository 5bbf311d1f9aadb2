"""Kill everything at random for minutes while a press keeps publishing; then look whether each item is stored exactly once.

    python -m benchmarks.chaos [--kills 50] [--engine duckdb postgres] [--feeds 24] [--seed N] [--pause 5]

Exit code 1 and what is wrong, when something is lost or doubled, or a feed is not idle and scheduled in the end. The same seed kills
in the same order, though not at the same moment of the work.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from feed_assets_tests.support.chaos import installation


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--engine", nargs="*", default=["duckdb", "postgres"], choices=["duckdb", "postgres"])
    parser.add_argument("--feeds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--pause", type=float, default=5.0, help="mean seconds between kills")
    parser.add_argument("--settle", type=float, default=400.0, help="seconds it may take to catch up afterwards")
    options = parser.parse_args()
    failed = False
    for engine in options.engine:
        with (
            tempfile.TemporaryDirectory(prefix="feed-assets-chaos-") as folder,
            installation(Path(folder), engine, feeds=options.feeds, seed=options.seed, pause=0.5) as it,
        ):
            began = time.monotonic()
            print(f"\n{engine}, seed {options.seed}: {options.feeds} feeds, {options.kills} kills", flush=True)
            time.sleep(15)
            it.rage(options.kills, options.pause, lambda line: print("  " + line, flush=True) if sys.stdout.isatty() else None)
            ids, raged = it.stop_publishing(), time.monotonic() - began
            verdict = it.settle(ids, options.settle)
            print(f"  {dict(it.kills)} in {raged:.0f} s, settled after {time.monotonic() - began - raged:.0f} s more")
            found = f"{len(verdict.missing)} missing, {len(verdict.doubled)} doubled, {verdict.announced} announced"
            print(
                f"  {verdict.published} items published, {found}; {len(verdict.held)} feeds held, {len(verdict.unscheduled)} not scheduled"
            )
            if not verdict.well:
                failed = True
                print(f"  {verdict}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
