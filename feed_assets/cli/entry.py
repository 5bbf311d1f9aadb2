"""Where `feed-assets` starts: Ctrl-C is quiet from the first moment, also while the commands are still being imported."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from feed_assets.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
