"""A webhook receiver on loopback: remembers what came, answers as a test wants, and verifies signatures as a receiver would."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Heard:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.body)
        return said

    @property
    def event_id(self) -> str:
        return str(self.said["event_id"])

    @property
    def feed_id(self) -> str:
        return str(self.said["payload"].get("feed_id"))

    def signed_with(self, key: bytes) -> bool:
        content = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return self.headers.get("webhook-signature") == f"v1,{expected}"


@dataclass
class Reply:
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)


class WebhookReceiver:
    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.reply: Callable[[Heard], Reply | int] = lambda _: 204
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                heard = Heard(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                outer.heard.append(heard)
                reply = outer.reply(heard)
                reply = Reply(reply) if isinstance(reply, int) else reply
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.status != 204:
                    self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def event_ids(self) -> list[str]:
        return [heard.event_id for heard in self.heard]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
