"""60 feeds on one host, asked by two batches in two processes at the same time: what the server sees.

python -m benchmarks.one_host [--feeds 60] [--delay 1] [--database postgresql://...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from benchmarks.publisher import document
from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.settings import load_settings
from feed_assets.store import open_store

_BATCH = """
import sys
from feed_assets.refresh import refresh_feeds
from feed_assets.settings import settings
from feed_assets.store import open_store
reports = list(refresh_feeds(open_store(settings().store_url), settings(), sys.argv[1:]))
print(sum(report.outcome.ok for report in reports))
"""


class Watched(ThreadingHTTPServer):
    """Notes when each request began and when its answer ended."""

    daemon_threads = True

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Watched

    def do_GET(self) -> None:
        began = time.monotonic()
        body = document(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.spans.append((began, time.monotonic()))

    def log_message(self, format: str, *args: Any) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=60)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--database", default="")
    options = parser.parse_args()
    server = Watched()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "FEED_ASSETS_HOME": folder,
            "FEED_ASSETS_ALLOW_PRIVATE_NETWORKS": "true",
            "FEED_ASSETS_DOMAIN_DELAY_SECONDS": str(options.delay),
            "FEED_ASSETS_DATABASE_URL": options.database,
        }
        store = open_store(load_settings(environment, dotenv=None).store_url)
        ids = [f"feed-{n}" for n in range(options.feeds)]
        rows = [{"id": feed_id, "url": f"http://127.0.0.1:{server.server_port}/{feed_id}"} for feed_id in ids]
        catalog.import_feeds(store, rows, now=utc_now())
        commands = [[sys.executable, "-c", _BATCH, *ids[half::2]] for half in (0, 1)]
        batches = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for command in commands]
        done = [int(batch.communicate()[0]) for batch in batches]
    spans = sorted(server.spans)
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(spans)]
    print(f"\n{options.feeds} feeds on one host, two processes, {options.delay:g} s between requests\n")
    print("| feeds done by each | requests seen | at the same time | closest, end of one to start of the next |\n|---|---|---|---|")
    print(f"| {done[0]} + {done[1]} | {len(spans)} | {sum(gap < 0 for gap in gaps)} | {min(gaps):.3f} s |")


if __name__ == "__main__":
    main()
