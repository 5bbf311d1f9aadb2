"""How long `feed-assets feed import` takes for a large OPML file: `python -m benchmarks.importing --feeds 5000`.

Makes the file, imports it into a fresh database as a person would (a process of its own), and imports it again, which changes nothing.
`--database-url` names an empty Postgres database to import into instead of a DuckDB file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from feed_assets.settings import PREFIX


def opml(feeds: int) -> str:
    """Feeds of many hosts in a few dozen groups, as a long-time reader has them."""
    groups = max(feeds // 100, 1)
    rows = [f"<opml version='2.0'><head><title>{feeds} feeds</title></head><body>"]
    for group in range(groups):
        rows.append(f"<outline text='Group {group}'>")
        rows += [
            f"<outline type='rss' text='Feed {number}' xmlUrl='https://site-{number}.example.org/{number}/feed.xml'/>"
            for number in range(group, feeds, groups)
        ]
        rows.append("</outline>")
    return "".join([*rows, "</body></opml>"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=5000)
    parser.add_argument("--database-url", default="")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "feeds.opml"
        file.write_text(opml(wanted.feeds), "utf-8")
        settings = {f"{PREFIX}HOME": folder, f"{PREFIX}DATABASE_URL": wanted.database_url}
        for what in ("a fresh database", "the same again"):
            began = time.monotonic()
            command = [sys.executable, "-m", "feed_assets.cli.main", "feed", "import", str(file)]
            done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
            print(f"{what}: {done.stdout.strip()} in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
