"""Do hanging and slow hosts hold up the healthy ones? 1,000 feeds on 500 hosts, 20 of which hang and 20 answer after 5 s.

    python -m benchmarks.slow_hosts [--feeds 1000] [--hosts 500] [--hanging 20] [--slow 20]

Prints when the last healthy feed, unchanged since its first fetch, was polled with the bad hosts among them, and without, in one run.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from benchmarks.publisher import address, running
from feed_assets import catalog
from feed_assets.refresh import refresh_feeds, utc_now
from feed_assets.settings import PREFIX, load_settings
from feed_assets.store import open_store


def seconds_until_healthy_are_done(port: int, hosts: list[tuple[int, str]], feeds_per_host: int) -> float:
    """Refresh all feeds of these (host, behaviour)s; the time at which the last healthy one was reported."""
    with tempfile.TemporaryDirectory() as folder:
        values = {"HOME": folder, "ALLOW_PRIVATE_NETWORKS": "true", "DOMAIN_DELAY_SECONDS": "1", "REQUEST_TIMEOUT_SECONDS": "15"}
        settings = load_settings({PREFIX + name: value for name, value in values.items()}, dotenv=None)
        store = open_store(settings.store_url)
        rows = [
            {"id": f"{kind}-{host}-{n}", "url": f"http://{address(host)}:{port}/{kind}/{host}-{n}"}
            for n in range(feeds_per_host)
            for host, kind in hosts
        ]
        catalog.import_feeds(store, rows, now=utc_now())
        healthy = [row["id"] for row in rows if row["id"].startswith("ok")]
        list(refresh_feeds(store, settings, healthy))  # from now on they answer 304: waiting counts, not parsing
        began = last = time.monotonic()
        wanted = len(healthy)
        for report in refresh_feeds(store, settings, [row["id"] for row in rows]):
            if report.feed_id.startswith("ok"):
                assert report.outcome.ok, report
                last, wanted = time.monotonic(), wanted - 1
                if not wanted:
                    break
        assert not wanted
        return last - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--hanging", type=int, default=20)
    parser.add_argument("--slow", type=int, default=20)
    options = parser.parse_args()
    every = options.hosts // max(options.hanging + options.slow, 1)
    bad = [host * every for host in range(options.hanging + options.slow)]
    kinds = dict.fromkeys(bad[: options.hanging], "hang") | dict.fromkeys(bad[options.hanging :], "slow")
    hosts = [(host, kinds.get(host, "ok")) for host in range(options.hosts)]
    with running(options.hosts, items=2) as port:
        alone = seconds_until_healthy_are_done(port, [each for each in hosts if each[1] == "ok"], options.feeds // options.hosts)
        among = seconds_until_healthy_are_done(port, hosts, options.feeds // options.hosts)
    print(f"\n{options.feeds} feeds on {options.hosts} hosts, {options.hanging} of which hang and {options.slow} answer after 5 s\n")
    print("| healthy feeds done | seconds | ratio |\n|---|---|---|")
    print(f"| without the bad hosts | {alone:.1f} | 1.00 |")
    print(f"| among the bad hosts | {among:.1f} | {among / alone:.2f} |")


if __name__ == "__main__":
    main()
