"""Files and folders: `.env`, HOME, the feeds file, temporary files, space, and what a demo or a crash left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values

from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning
from feed_assets.errors import FeedAssetsError
from feed_assets.feeds_files import read_feeds_file
from feed_assets.settings import PREFIX, demo_file, is_up
from feed_assets.store import database_file
from feed_assets.words import size_of

_LITTLE, _TOO_LITTLE = 1e9, 1e8  # bytes


def check_dotenv(case: Case) -> Iterator[Finding]:
    path = Path(".env")
    if not path.is_file() or str(path) in case.trouble:
        return  # `check_values` tells of one that cannot be read
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IROTH and any(_is_secret(name, value) for name, value in dotenv_values(path).items()):
        yield warning(".env", f"it has passwords, and everybody on this machine can read it (mode {mode:o})", "chmod 600 .env")
    else:
        yield ok(".env", f"it is read (mode {mode:o})")


def check_home(case: Case) -> Iterator[Finding]:
    home = case.settings.home.absolute()
    if not home.exists():
        nearest = _nearest(home)
        if nearest.is_dir() and os.access(nearest, os.W_OK):
            yield ok("home", f"{home} is not there yet; it is made when it is needed")
            return
        yield problem("home", f"{home} cannot be made: {nearest} is not a folder that can be written", _OTHER_HOME)
        return
    try:
        with tempfile.TemporaryFile(dir=home):
            yield ok("home", f"{home} can be written")
    except OSError as error:
        yield problem("home", f"{home} cannot be written: {_reason(error)}", _OTHER_HOME)


_OTHER_HOME = f"make it writable, or set {PREFIX}HOME to another folder"


def check_space(case: Case) -> Iterator[Finding]:
    """Where feed_assets writes: HOME, and a database file that lies elsewhere."""
    places = {"disk": _nearest(case.settings.home.absolute())}
    if f"{PREFIX}DATABASE_URL" not in case.trouble and (file := database_file(case.settings.store_url)) is not None:
        places["disk of the database"] = _nearest(file.absolute())
    seen: set[int] = set()
    for name, place in places.items():
        info = os.statvfs(place)
        if place.stat().st_dev not in seen:
            yield judge_space(name, str(place), shutil.disk_usage(place).free, free_files=info.f_favail, all_files=info.f_files)
        seen.add(place.stat().st_dev)


def judge_space(name: str, place: str, free: float, *, free_files: int, all_files: int) -> Finding:
    """Some file systems count no files: `all_files` is 0."""
    remedy = f"make room at {place}, or set {PREFIX}HOME to another disk; `feed-assets db` has commands that give space back"
    if all_files and free_files < max(all_files // 1000, 100):
        return problem(name, f"only {free_files} more files fit at {place}, however small", remedy)
    if free < _TOO_LITTLE:
        return problem(name, f"{size_of(free)} free at {place}: writing will fail", remedy)
    if free < _LITTLE:
        return warning(name, f"{size_of(free)} free at {place}", remedy)
    return ok(name, f"{size_of(free)} free at {place}")


def check_temporary(case: Case) -> Iterator[Finding]:
    wanted = case.environ.get("TMPDIR")
    if wanted and not (Path(wanted).is_dir() and os.access(wanted, os.W_OK)):
        yield warning(
            "temporary files", f"TMPDIR is {wanted}, which is not a folder that can be written", f"mkdir -p {wanted}, or unset TMPDIR"
        )
        return
    try:
        with tempfile.TemporaryFile():
            yield ok("temporary files", f"{tempfile.gettempdir()} can be written")
    except OSError as error:
        yield problem("temporary files", f"none can be made: {_reason(error)}", "set TMPDIR to a folder that can be written")


def check_feeds_file(case: Case) -> Iterator[Finding]:
    if not case.settings.feeds_file:
        return
    path = Path(case.settings.feeds_file).expanduser()
    try:
        rows = read_feeds_file(path)
    except (FeedAssetsError, OSError) as error:
        remedy = f"correct the file, or set {PREFIX}FEEDS_FILE to another one (relative to the folder you start in: {Path.cwd()})"
        yield problem("feeds file", f"{path} cannot be followed: {error}", remedy)
        return
    if not rows and case.settings.feeds_file_prune:
        yield warning("feeds file", f"{path} has no feeds, and FEEDS_FILE_PRUNE deletes all others", f"unset {PREFIX}FEEDS_FILE_PRUNE")
    else:
        yield ok("feeds file", f"{path} has {len(rows)} feeds")


def check_leftovers(case: Case) -> Iterator[Finding]:
    """Locks that somebody holds, and what a killed demo left."""
    home = case.settings.home
    yield ok("up", f"`feed-assets up` {'runs' if is_up(home) else 'does not run'} in {home}")
    if demo_file(home).is_file() and not is_up(home):
        yield warning("demo", f"{demo_file(home)} was left by a demo that was killed; nobody heeds it", f"rm {demo_file(home)}")
    lock = home / "dagster" / ".setup.lock"
    if _is_locked(lock):
        yield warning(
            "locks", f"somebody has been setting up Dagster's home and holds {lock}", f"wait, or end the process that has it: fuser {lock}"
        )


def _is_locked(path: Path) -> bool:
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _is_secret(name: str, value: str | None) -> bool:
    if not name.startswith(PREFIX) or not value:
        return False
    return name.endswith("_TOKEN") or (name.endswith("_URL") and (bool(urlsplit(value).password) or "password=" in value))


def _nearest(path: Path) -> Path:
    """The path, or the first of its parents that is there."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
