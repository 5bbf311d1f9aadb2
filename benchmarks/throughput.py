"""The whole path against other readers, in one run: feeds that are new, that have not changed, and of which a fifth has changed.

    python -m benchmarks.throughput [--feeds 1000] [--repeat 3] [--engine duckdb postgres] [--peers bare reader newsboat] [--json FILE]

feed_assets runs as it does in service: batches are claimed, and each is a run of the real Dagster job in a process of its own, with its
events in Dagster's storage. CPU seconds are those of all processes of a contender, a Postgres server's included, less those of a run
that has nothing to do (loading Python, Dagster and definitions, which is printed). Memory is the most that all of them had at a time
(PSS). Medians over the repeats; the first round of new feeds happens once per repeat, with an empty database.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import psutil
import psycopg

from benchmarks.contenders import FeedAssets
from benchmarks.newsstand import Newsstand, open_newsstand
from benchmarks.peers import Bare, Contender, Newsboat, Reader
from feed_assets_tests.support.databases import postgres_server

PHASES = ("new", "unchanged", "20 % changed")
_AT_ONCE = 2  # processes of a contender that has several


@dataclass(frozen=True, slots=True)
class Measured:
    contender: str
    phase: str
    feeds: int
    wall: float
    cpu: float  # without the fixed start
    start: float  # CPU of the fixed start
    memory_mb: float
    requests: int
    bodies: int
    stored: int
    events: int


def run(commands: Sequence[list[str]], variables: dict[str, str]) -> tuple[float, float, float]:
    """Run these processes, two at a time: seconds on the clock, CPU seconds, and the most memory in MB."""
    waiting, running = list(commands), {}
    cpu = memory = 0.0
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                process = subprocess.Popen(waiting.pop(0), env=os.environ | variables, stdout=said, stderr=said)
                running[process.pid] = process
            memory = max(memory, sum(map(_pss, running)))
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid not in running:
                time.sleep(0.1)
                continue
            process = running.pop(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                sys.exit(f"{process.args} ended with {process.returncode}: {said.read()[-2000:].decode(errors='replace')}")
            cpu += usage.ru_utime + usage.ru_stime
    return time.perf_counter() - began, cpu, memory


def _pss(pid: int) -> float:
    """Of a process and its children, in MB."""
    total = 0
    with suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.Error):
                total += process.memory_full_info().pss
    return total / 1e6


@cache
def postmaster() -> psutil.Process:
    with psycopg.connect(postgres_server()) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    return psutil.Process(int(row[0].split()[0]))


def server_cpu(contender: Contender) -> float:
    """CPU seconds that the Postgres server has used so far, those of connections that are gone included."""
    if "postgres" not in contender.name:
        return 0.0
    own = postmaster().cpu_times()
    seconds = own.user + own.system + own.children_user + own.children_system
    for process in postmaster().children():
        with suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system
    return seconds


def measure(contender: Contender, stand: Newsstand, phase: str, start: float) -> Measured:
    stored, events, server = contender.stored(), contender.events(), server_cpu(contender)
    stand.seen()
    commands, variables = contender.round()
    wall, cpu, memory = run(commands, variables)
    seen = stand.seen()
    cpu += contender.claim_seconds + server_cpu(contender) - server
    fixed = start * len(commands)
    feeds = len(stand.urls)
    assert sum(seen.values()) >= feeds, f"{contender.name} asked {sum(seen.values())} times"
    return Measured(
        contender.name,
        phase,
        feeds,
        wall,
        cpu - fixed,
        fixed,
        memory,
        sum(seen.values()),
        seen.get(200, 0),
        contender.stored() - stored,
        contender.events() - events,
    )


def start_of(contender: Contender) -> float:
    """The CPU of a run that has nothing to do."""
    if not isinstance(contender, FeedAssets):
        return 0.0
    rounds, server = 3, server_cpu(contender)
    own = [run([contender.command("nothing")], contender.variables)[1] for _ in range(rounds)]
    return statistics.median(own) + (server_cpu(contender) - server) / rounds


def table(results: Sequence[Measured], phases: Sequence[str]) -> str:
    lines = [
        "| | " + " | ".join(f"{phase}: CPU s per 1,000 feeds" for phase in phases) + " | feeds/s, new | most memory | articles | events |",
        "|---" * (len(phases) + 5) + "|",
    ]
    for name in dict.fromkeys(each.contender for each in results):
        mine = [each for each in results if each.contender == name]

        def middle(value: Callable[[Measured], float], phase: str | None = None, mine: Sequence[Measured] = mine) -> float:
            return statistics.median(value(each) for each in mine if phase in (None, each.phase))

        cells = [f"{middle(lambda each: each.cpu / each.feeds * 1000, phase):.2f}" for phase in phases]
        cells += [f"{middle(lambda each: each.feeds / each.wall, phases[0]):,.0f}", f"{max(each.memory_mb for each in mine):,.0f} MB"]
        cells += [f"{max(each.stored for each in mine):,}", f"{max(each.events for each in mine):,}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engine", nargs="*", default=["duckdb", "postgres"])
    parser.add_argument("--peers", nargs="*", default=["bare", "reader", "newsboat"])
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: list[Measured] = []
    with open_newsstand(options.feeds) as stand:
        makers: list[Callable[[Path], Contender]] = [
            *(lambda folder, engine=engine: FeedAssets(engine, stand.urls, folder, options.batch_size) for engine in options.engine),
            *(
                lambda folder, kind=kind: kind(stand.urls, folder)
                for name, kind in (("bare", Bare), ("reader", Reader), ("newsboat", Newsboat))
                if name in options.peers and (name != "newsboat" or Newsboat.is_there())
            ),
        ]
        for turn in range(options.repeat):
            for make in makers:
                with tempfile.TemporaryDirectory() as folder:
                    contender = make(Path(folder))
                    try:
                        start = start_of(contender)
                        for phase in PHASES:
                            if phase == PHASES[2]:
                                stand.advance(20, turn)
                            results.append(measured := measure(contender, stand, phase, start))
                            print(json.dumps(asdict(measured)), file=sys.stderr, flush=True)
                    finally:
                        contender.close()
    print(f"\n{options.feeds:,} feeds, medians of {options.repeat}; {os.cpu_count()} cores\n\n{table(results, PHASES)}")
    starts = {each.contender: each.start for each in results if each.start}
    print("\nnot counted above, the start of a run: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in starts.items()))
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1))


if __name__ == "__main__":
    main()
