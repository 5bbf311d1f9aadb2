"""Ports: who answers on those of the HTTP API and the Dagster UI. Asks this machine only."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

from feed_assets.cli.doctor.finding import Case, Finding, ok, problem, warning
from feed_assets.cli.ports import listens
from feed_assets.settings import PREFIX, is_up

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECONDS = 2.0


def check_ports(case: Case) -> Iterator[Finding]:
    settings, running = case.settings, is_up(case.settings.home)
    if not settings.api_port:
        yield problem("port of the HTTP API", "API_PORT is 0, which is no port", f"remove {PREFIX}API_PORT; the default is 8080")
    else:
        host = "127.0.0.1" if settings.api_host in ("0.0.0.0", "::") else settings.api_host
        yield _port("port of the HTTP API", host, settings.api_port, "/health", "checks", running, f"{PREFIX}API_PORT")
    ui = urlsplit(settings.dagster_url)
    if ui.hostname in _LOOPBACK:
        yield _port("port of the Dagster UI", ui.hostname, ui.port or 80, "/server_info", "dagster_version", running, "--port")


def _port(name: str, host: str, port: int, path: str, key: str, running: bool, option: str) -> Finding:
    """`key` is what the answer at `path` has when it is ours."""
    if not listens(host, port):
        if running:
            return problem(
                name,
                f"`feed-assets up` runs, but nothing listens on {host}:{port}",
                "see the logs in HOME; stop and start `feed-assets up`",
            )
        return ok(name, f"{host}:{port} is free")
    if _has(host, port, path, key):
        return ok(name, f"{host}:{port} answers")
    return warning(name, f"another program listens on {host}:{port}", f"stop it, or choose another with {option}, such as {port + 1}")


def _has(host: str, port: int, path: str, key: str) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        return key in json.loads(connection.getresponse().read(1_000_000))
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return False
    finally:
        connection.close()
