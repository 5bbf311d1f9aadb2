"""The command: runs all checks, shows what they found, and ends with 1 when something does not work."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from feed_assets.cli.doctor.dagster import check_code, check_dagster
from feed_assets.cli.doctor.database import check_database
from feed_assets.cli.doctor.files import check_dotenv, check_feeds_file, check_home, check_leftovers, check_space, check_temporary
from feed_assets.cli.doctor.finding import Case, Check, Finding, Verdict, problem
from feed_assets.cli.doctor.ports import check_ports
from feed_assets.cli.doctor.variables import check_together, check_values
from feed_assets.cli.doctor.versions import check_versions
from feed_assets.cli.output import out, print_json
from feed_assets.errors import FeedAssetsError
from feed_assets.refresh import utc_now
from feed_assets.settings import salvage_settings
from feed_assets.urls import mask_password

CHECKS: tuple[Check, ...] = (
    check_values,
    check_together,
    check_dotenv,
    check_versions,
    check_home,
    check_space,
    check_temporary,
    check_feeds_file,
    check_leftovers,
    check_database,
    check_ports,
    check_dagster,
    check_code,
)
_COLOURS = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.PROBLEM: "bold red"}
_URL = re.compile(r"\w+://[^\s'\"]+")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Is everything as it should be, and if not, what to do. Looks only; needs no network; works when settings are wrong, too."""
    findings = list(examine(utc_now()))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _show(findings)
    problems = sum(finding.verdict is Verdict.PROBLEM for finding in findings)
    if problems:
        raise FeedAssetsError(f"{problems} {'problem' if problems == 1 else 'problems'}")


def examine(now: datetime) -> Iterator[Finding]:
    """All findings. A check that fails itself is a finding, not the end."""
    salvaged = salvage_settings()
    case = Case(salvaged.settings, salvaged.trouble, salvaged.sources, dict(os.environ), now)
    for check in CHECKS:
        try:
            yield from map(_without_secrets, check(case))
        except Exception as error:
            name = check.__name__.removeprefix("check_").replace("_", " ")
            what = f"this check failed itself: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            yield _without_secrets(problem(name, what, "please report this, with what `feed-assets doctor --json` says"))


def _without_secrets(finding: Finding) -> Finding:
    """Drivers repeat URLs as they please."""
    found, remedy = (_URL.sub(lambda url: mask_password(url[0]), text) for text in (finding.found, finding.remedy))
    return Finding(finding.name, finding.verdict, found, remedy)


def _show(findings: list[Finding]) -> None:
    """What works in one line; below what does not, what to do."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        _print(out, finding.verdict.value, finding.name, width, finding.found, _COLOURS[finding.verdict])
        if finding.remedy:
            out.print(Text(f"{'':<8} {'':<{width}}  -> {finding.remedy}"), soft_wrap=True)


def _print(console: Console, verdict: str, name: str, width: int, found: str, colour: str) -> None:
    console.print(Text.assemble((f"{verdict:<8}", colour), f" {name:<{width}}  {found}"), soft_wrap=True)
