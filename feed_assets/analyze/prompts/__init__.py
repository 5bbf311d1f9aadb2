"""Prompts: those that come with feed_assets, beside this file, and people's own. Each has a version made from its text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from feed_assets.errors import SettingsError

_FOLDER = Path(__file__).parent
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    text: str

    @property
    def version(self) -> str:
        return fingerprint(self.text)


def load_prompt(name: str) -> Prompt:
    """One of ours by its name, or any file by its path."""
    own = {path.stem: path for path in sorted(_FOLDER.glob("*.md"))}
    path = own.get(name) or Path(name)
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"ANALYSIS_PROMPT is {name!r}: there is no such file, and no such prompt among {', '.join(own)}") from None
    if not 0 < len(text) <= _LONGEST:
        raise SettingsError(f"ANALYSIS_PROMPT is {name!r}, which is empty or longer than {_LONGEST} characters")
    return Prompt(path.stem, text)


def fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
