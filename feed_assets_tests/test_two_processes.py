"""Two batches in two processes with feeds of one host: the host notices no difference to one."""

from __future__ import annotations

from pathlib import Path

from feed_assets import catalog
from feed_assets.refresh import claim, utc_now
from feed_assets.store import Store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.store.builders import start_python
from feed_assets_tests.support.feed_server import FeedServer, rss
from feed_assets_tests.support.rows import look
from feed_assets_tests.support.timing import Span, shortest_rest, timed

DELAY = 0.2
REFRESH = """
import sys
from pathlib import Path
from feed_assets.refresh import refresh
from feed_assets.store import connect
from feed_assets_tests.conftest import make_settings

home, url, token, delay = sys.argv[1:]
settings, store = make_settings(Path(home), DATABASE_URL=url, DOMAIN_DELAY_SECONDS=delay), connect(url)
print("ready", flush=True)
sys.stdin.readline()
for report in refresh(store, settings, token):
    print(report.feed_id, report.status_code, report.new)
"""


def test_two_processes_ask_one_host_like_one(store: Store, database_url: str, tmp_path: Path, server: FeedServer) -> None:
    spans: list[Span] = []
    names = [f"feed-{number:02}" for number in range(20)]
    rows = [{"id": name, "url": server.publish(f"/{name}", rss(name))} for name in names]
    timed(server, *server.answers, spans=spans)
    catalog.import_feeds(store, rows, now=utc_now())
    settings = make_settings(tmp_path, DATABASE_URL=database_url)
    tokens = [claim(store, settings, part, utc_now, 0) for part in (names[:10], names[10:])]
    store.close()
    processes = [start_python(REFRESH, str(tmp_path), database_url, token, str(DELAY)) for token in tokens]
    try:
        for process in processes:
            assert process.stdout and process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        printed = [process.communicate(timeout=40) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], printed
    assert sorted(line for out, _ in printed for line in out.splitlines()) == [f"{name} 200 1" for name in names]
    assert sorted(asked.path for asked in server.asked) == [f"/{name}" for name in names]
    assert shortest_rest(spans) >= DELAY
    assert len(look(store)["raw_items"]) == 20
