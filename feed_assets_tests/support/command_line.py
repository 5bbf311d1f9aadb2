"""`feed-assets` as a person runs it: as a process, or (cheaper) its `main` in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from feed_assets.cli.main import main
from feed_assets.settings import PREFIX, settings


class Ran(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What is on stdout, which must be JSON and nothing else."""
        return json.loads(self.out)


class Run(Protocol):
    def __call__(self, *arguments: str, **variables: str) -> Ran: ...


def run_here(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], variables: dict[str, str]) -> Ran:
    """Call `main` with these arguments and settings; an exception that is not an exit goes to the test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(PREFIX + name, value)
        patch.setenv("DAGSTER_HOME", "")  # what a command puts there is gone after it
        patch.setattr(sys, "argv", ["feed-assets", *arguments])
        settings.cache_clear()
        capsys.readouterr()
        try:
            main()
            code: Any = 0
        except SystemExit as end:
            code = end.code
    said = capsys.readouterr()
    return Ran(int(code or 0), said.out, said.err)


def run_as_process(folder: Path, *arguments: str, **variables: str) -> Ran:
    """Run the command in a process of its own, with `folder` as its working directory and HOME."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX) and name != "DAGSTER_HOME"}
    ours = {PREFIX + name: value for name, value in ({"HOME": str(folder / "home")} | variables).items()}
    done = subprocess.run(
        [sys.executable, "-m", "feed_assets.cli.main", *arguments], cwd=folder, env=clean | ours, capture_output=True, text=True, timeout=60
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def assert_failed(ran: Ran, code: int, *words: str) -> None:
    """It ended with this code and said why in one line on stderr, with these words in it."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("error: ")
    for word in words:
        assert word in ran.err
