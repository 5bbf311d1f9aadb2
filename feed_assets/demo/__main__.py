"""`python -m feed_assets.demo PORT [LOG_FILE]`: the publisher as a process of its own."""

import contextlib
import sys
from pathlib import Path

from feed_assets.demo.server import serve_forever

if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve_forever(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
