"""`python -m feed_assets.demo PORT [LOG_FILE]`: the publisher as a process of its own."""

import contextlib
import signal
import sys
from pathlib import Path

from feed_assets.demo.server import serve_forever

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell sets it to be ignored in the background
    with contextlib.suppress(KeyboardInterrupt):
        serve_forever(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
