"""A server that takes messages, as a chat or paging service does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATH = "/hooks/a-secret-path-of-the-tests"


@dataclass
class Receiver:
    """What came, and what it is answered with."""

    port: int = 0
    status: int = 200
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    @property
    def kinds(self) -> list[str]:
        return [body["alarm"]["kind"] for body in self.bodies]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """One on a free port."""
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == PATH:
                found.bodies.append(json.loads(body))
                found.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(found.status)
            self.send_header("location", found.url)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
