"""Take the pictures of docs/pictures/ that show the pages, from a running `make demo`. Needs chromium.

.venv/bin/python scripts/take_pictures.py [http://127.0.0.1:8080]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
DESK, HAND = {"width": 1200, "height": 820}, {"width": 390, "height": 780}
PICTURES = (
    ("feeds.png", "/", DESK, "light"),
    ("feeds-dark-phone.png", "/", HAND, "dark"),
    ("feed.png", "/feeds/demo-ticker", {"width": 1200, "height": 1100}, "light"),
)


def take(base: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name, path, size, scheme in PICTURES:
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(base + path)
            page.screenshot(path=FOLDER / name)
            page.close()
            print(FOLDER / name)
        browser.close()


if __name__ == "__main__":
    take(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080")
