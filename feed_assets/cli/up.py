"""`feed-assets up`: everything on this machine, one Ctrl-C stops all."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated
from urllib.parse import urlsplit

import typer
import yaml

from feed_assets import catalog
from feed_assets.cli.output import err, out
from feed_assets.cli.ports import answers, any_port, free_port, listens
from feed_assets.cli.supervisor import Child, Supervisor
from feed_assets.errors import FeedAssetsError, UsageError
from feed_assets.feeds_files import read_feeds_file
from feed_assets.following import FeedsFile, in_words
from feed_assets.refresh import utc_now
from feed_assets.settings import PREFIX, Settings, demo_file, settings, up_lock
from feed_assets.store import Store, open_store
from feed_assets.urls import mask_password

DEMO_GROUP = "demo"
_DEMO_PORT = 8090
# What makes a demo lively; a setting that the user gives wins.
_DEMO_SETTINGS = {
    "ALLOW_PRIVATE_NETWORKS": "true",
    "DOMAIN_DELAY_SECONDS": "0.2",
    "REQUEST_TIMEOUT_SECONDS": "5",
    "SENSOR_INTERVAL_SECONDS": "5",
}


def up(
    demo: Annotated[bool, typer.Option("--demo", help="With a local publisher of demo feeds; needs no internet.")] = False,
    port: Annotated[int, typer.Option(help="Port of the Dagster UI.")] = 3000,
    api_port: Annotated[int | None, typer.Option(help="Port of the HTTP API. Default: API_PORT.")] = None,
) -> None:
    """Start everything on this machine: Dagster UI, daemon, code location and HTTP API. Ctrl-C stops it all."""
    began = time.monotonic()
    home = _home_for_all(api_port)
    with _alone_in(home), _demo_settings(home, demo):
        current = settings()
        if port == current.api_port:
            raise UsageError(f"the Dagster UI and the HTTP API cannot both have port {port}; choose another with --port or --api-port")
        ui_port = free_port("127.0.0.1", port, "--port")
        os.environ.setdefault(f"{PREFIX}DAGSTER_URL", f"http://127.0.0.1:{ui_port}")
        free_port(current.api_host, current.api_port, "--api-port")
        store = open_store(current.store_url)

        from feed_assets.defs.instance import prepare_dagster_home  # after the checks: it takes Dagster's three seconds

        own_instance = "DAGSTER_HOME" not in os.environ and not current.dagster_database_url
        prepare_dagster_home(current)
        if own_instance:
            _heal(store)
        supervisor = Supervisor(dict(os.environ), lambda line: err.print(line, markup=False, soft_wrap=True))
        _stop_on_signals()
        try:
            _start(supervisor, current, store, ui_port, demo)
            _greet(current, store, ui_port, demo, time.monotonic() - began)
            supervisor.watch()
        except KeyboardInterrupt:
            err.print("stopping ...")
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            supervisor.stop()
    err.print("stopped")


def _heal(store: Store) -> None:
    """We are the only ones here: what seems to be running was killed."""
    import dagster as dg

    from feed_assets.defs.recovery import end_abandoned_runs

    with dg.DagsterInstance.get() as instance:
        ended = end_abandoned_runs(instance, store, utc_now())
    if ended:
        out.print(f"ended {ended} runs that were killed; their feeds are due again")


def _home_for_all(api_port: int | None) -> Path:
    """HOME, made and put into the environment, so that all children have the same wherever they are started."""
    if api_port is not None:
        os.environ[f"{PREFIX}API_PORT"] = str(api_port)
    settings.cache_clear()
    home = settings().home.absolute()
    os.environ[f"{PREFIX}HOME"] = str(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FeedAssetsError(f"cannot create {home}: {error.strerror}; FEED_ASSETS_HOME chooses another folder") from None
    return home


@contextmanager
def _alone_in(home: Path) -> Iterator[None]:
    with up_lock(home).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FeedAssetsError(f"`feed-assets up` is running already in {home}; stop it, or set FEED_ASSETS_HOME to another") from None
        yield


@contextmanager
def _demo_settings(home: Path, demo: bool) -> Iterator[None]:
    """The demo's own settings, for every command as long as it runs."""
    file = demo_file(home)
    file.unlink(missing_ok=True)  # of a demo that was killed
    if demo:
        file.write_text("".join(f"{PREFIX}{name}={value}\n" for name, value in _DEMO_SETTINGS.items()))
    settings.cache_clear()
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _start(supervisor: Supervisor, current: Settings, store: Store, ui_port: int, demo: bool) -> None:
    home, host = current.home, "127.0.0.1"
    api_host = host if current.api_host in ("0.0.0.0", "::") else current.api_host
    logs, code_port = home / "logs", any_port()
    workspace = home / "workspace.yaml"
    location = {"grpc_server": {"host": host, "port": code_port, "location_name": "feed_assets"}}
    workspace.write_text(yaml.safe_dump({"load_from": [location]}))
    if demo:
        publisher_port = _publisher_port(store, host)
        command = [sys.executable, "-m", "feed_assets.demo", str(publisher_port), str(logs / "publisher.jsonl")]
        supervisor.start(Child("publisher", command, lambda: listens(host, publisher_port), logs / "publisher.log"))
        _register_demo(store, publisher_port)
    else:
        _register_starters(store, current)
    code = [
        _script("dagster"),
        "api",
        "grpc",
        "-m",
        "feed_assets.definitions",
        "-h",
        host,
        "-p",
        str(code_port),
        "--location-name",
        "feed_assets",
    ]
    webserver = [_script("dagster-webserver"), "-h", host, "-p", str(ui_port), "-w", str(workspace)]
    daemon = [_script("dagster-daemon"), "run", "-w", str(workspace)]
    api = [sys.executable, "-m", "feed_assets.cli.main", "serve"]
    supervisor.start(Child("code location", code, lambda: listens(host, code_port), logs / "code.log"))
    children = [
        Child("HTTP API", api, lambda: answers(f"http://{api_host}:{current.api_port}/health"), logs / "api.log"),
        Child("Dagster UI", webserver, lambda: answers(f"http://{host}:{ui_port}/server_info"), logs / "webserver.log"),
        Child("Dagster daemon", daemon, lambda: True, logs / "daemon.log"),
    ]
    for child in children:
        supervisor.start(child, wait=False)
    for child in children:
        supervisor.await_ready(child)


def _publisher_port(store: Store, host: str) -> int:
    """The same at each start where it can be: a restart then fetches nothing that is not due."""
    with store.read() as tx:
        before = [urlsplit(feed.url).port for feed in tx.feeds.everything() if feed.feed_group == DEMO_GROUP]
    wanted = (*before[:1], _DEMO_PORT)
    return next((port for port in wanted if port and not listens(host, port)), None) or any_port()


def _register_starters(store: Store, current: Settings) -> None:
    """FEEDS_FILE, or else the starter list on the very first start; and demo feeds go when the demo is over."""
    with store.read() as tx:
        first = not tx.feeds.all_ids()
        demo = [feed.feed_id for feed in tx.feeds.live() if feed.feed_group == DEMO_GROUP]
    for feed_id in demo:
        catalog.delete_feed(store, feed_id, now=utc_now())
    if current.feeds_file:
        done = FeedsFile(current).follow(store, now=utc_now())
        for line in in_words(done) if done else ():
            err.print(line, markup=False, soft_wrap=True)
        return
    path = _starter_list()
    if first and path is not None:
        result = catalog.import_feeds(store, read_feeds_file(path), now=utc_now())
        out.print(f"loaded {len(result.added)} feeds from {path}", markup=False, soft_wrap=True)


def _register_demo(store: Store, port: int) -> None:
    """Add the demo feeds, or bring them back; those that are there already go on as they are."""
    from feed_assets.demo import DEMO_FEEDS, demo_urls
    from feed_assets.model import Feed

    now, urls = utc_now(), demo_urls(port)
    feeds = [
        Feed(f"demo-{feed.name}", urls[feed.name], feed.title, feed_group=DEMO_GROUP, created_at=now, updated_at=now) for feed in DEMO_FEEDS
    ]
    with store.begin() as tx:
        present = {feed.feed_id: feed.url for feed in tx.feeds.live()}
        tx.feeds.put([feed for feed in feeds if present.get(feed.feed_id) != feed.url], next_run_at=now, reason="new feed")


def _greet(current: Settings, store: Store, ui_port: int, demo: bool, seconds: float) -> None:
    with store.read() as tx:
        feeds = tx.feeds.live_ids()
    example = "demo-ticker" if demo else (feeds[0] if feeds else "FEED_ID")
    lines = (
        f"feed_assets is up after {seconds:.0f} s with {len(feeds)} feeds",
        "",
        f"  Feeds        {current.site_url}/",
        f"  Dagster UI   http://127.0.0.1:{ui_port}/assets/raw_items?view=partitions",
        f"  HTTP API     {current.site_url}/docs",
        f"  a feed       {current.site_url}/rss/{example}",
        f"  database     {mask_password(current.store_url)}",
        f"  logs         {current.home / 'logs'}",
        "",
        "Add a feed with: feed-assets feed add URL    Stop with: Ctrl-C",
    )
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
    sys.stdout.flush()


def _stop_on_signals() -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)  # also when started in the background, where a shell sets it to be ignored


def _script(name: str) -> str:
    """A command of the environment that we run in, on the PATH or not."""
    return str(Path(sys.executable).parent / name)


def _starter_list() -> Path | None:
    package = Path(__file__).resolve().parents[1]
    places = (Path("feeds.yaml"), package / "feeds.yaml", package.parent / "feeds.yaml")
    return next((path for path in places if path.is_file()), None)
