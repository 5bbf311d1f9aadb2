"""A real HTTP server on loopback that speaks OpenAI's chat completions, and answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = {"score": 42, "summary": "A harbour was built.", "facts": ["It is in the north.", "It took two years."]}
Question = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0  # before it is sent


def says(content: Any = GOOD, **message: Any) -> Reply:
    """A completion with this content: a text, or a value as JSON."""
    finish = message.pop("finish_reason", "stop")
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text} | message, "finish_reason": finish}
    return Reply(body=json.dumps({"choices": [choice], "usage": {"total_tokens": 100}}).encode())


def fails(status: int, text: str = "no", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": text}}).encode()
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class ChatServer:
    """Gives the replies in `replies` one after the other, then `always`; remembers what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.always: Reply | Callable[[Question], Reply] = says()
        self.asked: list[Question] = []
        self.keys: list[str | None] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = outer._next(self.path, question, self.headers.get("Authorization"))
                time.sleep(reply.seconds)
                with outer._lock:
                    outer._now -= 1
                self.send_response(reply.status)
                for name, value in (reply.headers | {"Content-Length": str(len(reply.body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 50

            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _next(self, path: str, question: Question, key: str | None) -> Reply:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.asked.append(question)
            self.keys.append(key)
            if path != "/v1/chat/completions":
                return fails(404, "no such place")
            if self.replies:
                return self.replies.pop(0)
        return self.always if isinstance(self.always, Reply) else self.always(question)

    @property
    def headlines(self) -> list[str]:
        """Of the articles that it was asked about."""
        return [headline_of(question) for question in self.asked]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def headline_of(question: Question) -> str:
    return str(article_of(question)["headline"])


def article_of(question: Question) -> dict[str, Any]:
    """The article as it was sent."""
    article: dict[str, Any] = json.loads(question["messages"][1]["content"].partition("\n")[2])
    return article
