"""What a check gives: what was looked at, whether that is well, what was found, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from feed_assets.settings import Settings


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """What every check may know."""

    settings: Settings
    trouble: Mapping[str, str]  # variables that cannot be used, and why; `settings` does without them
    sources: Mapping[str, str]  # where each setting that is set comes from, by its field's name
    environ: Mapping[str, str]
    now: datetime


Check = Callable[[Case], Iterator[Finding]]


def ok(name: str, found: str) -> Finding:
    return Finding(name, Verdict.OK, found)


def warning(name: str, found: str, remedy: str) -> Finding:
    """Something that works, and that somebody may come to regret."""
    return Finding(name, Verdict.WARNING, found, remedy)


def problem(name: str, found: str, remedy: str) -> Finding:
    """Something that does not work."""
    return Finding(name, Verdict.PROBLEM, found, remedy)
