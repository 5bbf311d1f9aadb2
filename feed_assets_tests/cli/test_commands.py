"""All commands at once: each explains itself, has an example that works and tests of its own; quiet, colours, completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from feed_assets.cli.main import app
from feed_assets.settings import PREFIX
from feed_assets_tests.cli.test_config import COMMANDS
from feed_assets_tests.support.command_line import Run, run_as_process

TESTS = "\n".join(path.read_text("utf-8") for path in sorted(Path(__file__).parents[1].rglob("test_*.py")) if path != Path(__file__))
SCRIPT = Path(sys.executable).parent / "feed-assets"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_that_can_be_parsed(path: tuple[str, ...]) -> None:
    start, _, example = (COMMANDS[path].epilog or "").partition("feed-assets ")
    assert start == "Example: "
    words = shlex.split(example)
    assert tuple(words[: len(path)]) == path
    command = COMMANDS[path]
    context = command.make_context(path[-1], words[len(path) :], resilient_parsing=False)
    assert not context.args


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_tests(path: tuple[str, ...]) -> None:
    words = ", ".join(f'"{word}"' for word in path)
    assert f"({words}" in TESTS or f"[{words}" in TESTS or f", {words}" in TESTS, f"no test runs {' '.join(path)}"


def test_every_group_has_help() -> None:
    groups = [group for group in get_command(app).commands.values() if hasattr(group, "commands")]  # type: ignore[attr-defined]
    assert len(groups) >= 3
    assert [group.name for group in groups if not group.help] == []


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("spelling", ["--quiet", "-q"])
def test_quiet_may_stand_anywhere(news: Run, place: int, spelling: str) -> None:
    words = ["feed", "sync", "news"]
    assert news(*words[:place], spelling, *words[place:]) == (0, "", "")
    assert news(*words).out == "news is due now\n"  # and is forgotten after


def test_quiet_still_says_what_was_asked_for_and_what_went_wrong(news: Run) -> None:
    assert "news" in news("feed", "list", "--quiet").out
    assert news("feed", "show", "nowhere", "-q").err.startswith("error: ")


def test_what_stands_behind_two_dashes_is_no_option(news: Run) -> None:
    assert news("feed", "show", "--", "-q").err == "error: there is no feed '-q'; `feed-assets feed list` shows the ones there are\n"


@pytest.mark.parametrize("arguments", [("status",), ("--help",)], ids=" ".join)
def test_there_are_no_colours_when_output_is_piped(news: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = run_as_process(tmp_path, *arguments)
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err


def complete(folder: Path, typed: str) -> set[str]:
    """What bash would offer."""
    variables = {"_FEED_ASSETS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    ours = os.environ | {f"{PREFIX}HOME": str(folder / "home")} | variables
    done = subprocess.run([SCRIPT], env=ours, cwd=folder, capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_the_shell_completes_commands_and_ids(news: Run, tmp_path: Path) -> None:
    assert complete(tmp_path, "feed-assets s") == {"serve", "simulate", "status"}
    assert complete(tmp_path, "feed-assets feed show ne") == {"news"}


def test_completion_is_shown_and_installed_for_the_shell_that_asks(tmp_path: Path) -> None:
    def in_bash(option: str) -> str:
        line = f"{shlex.quote(str(SCRIPT))} {option}; true"  # more than one command, or bash would make way for ours
        done = subprocess.run(["bash", "-c", line], env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=30)
        assert done.stderr == ""
        return done.stdout

    assert "_FEED_ASSETS_COMPLETE=complete_bash" in in_bash("--show-completion")
    assert "bash completion installed" in in_bash("--install-completion")
    assert ".bash_completions/feed-assets.sh" in (tmp_path / ".bashrc").read_text()


def test_a_terminal_without_unicode_shows_names_all_the_same(news: Run, tmp_path: Path) -> None:
    news("feed", "edit", "news", "--name", "日本")
    done = subprocess.run(
        [SCRIPT, "feed", "list"],
        env=os.environ | {f"{PREFIX}HOME": str(tmp_path / "home"), "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u65e5\u672c" in done.stdout
