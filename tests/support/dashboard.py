"""A running dashboard, asked over a real socket."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support import forks
from tests.support.forks import Forked, environment
from tests.support.typed import in_words

PATIENCE_SECONDS = 30.0  # on a machine with other work; no test passes or fails by it
TOKEN = "a-token-of-the-tests-0123456789"  # noqa: S105 - opens nothing but these servers


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


class _AtSocketFile(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self._path))


@dataclass
class Dashboard:
    """A running `thinkledger serve`."""

    process: Forked
    port: int
    login: str
    uds: Path | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connection(self) -> http.client.HTTPConnection:
        if self.uds is not None:
            return _AtSocketFile(self.uds)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)

    def ask(self, path: str, method: str = "GET", body: str | bytes | None = None, **headers: str) -> Answer:
        """One request; header names are given with underscores."""
        connection = self.connection()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, got, answer.read())
        finally:
            connection.close()

    def submit(self, path: str, fields: dict[str, object] | None = None, **headers: str) -> Answer:
        """What a form sends."""
        form = {"content_type": "application/x-www-form-urlencoded", **headers}
        return self.ask(path, "POST", urlencode(fields or {}), **form)

    def send(self, path: str, value: object, **headers: str) -> Answer:
        """What a program sends."""
        return self.ask(path, "POST", json.dumps(value), **{"content_type": "application/json", **headers})

    def log_in(self, token: str, **headers: str) -> Answer:
        return self.submit("/login", {"token": token}, **headers)

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(by)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def dashboard(folder: Path, *arguments: str, token: str | None = TOKEN, db: str = "t.db") -> Iterator[Dashboard]:
    """A server on a free port."""
    said = {} if token is None else {"THINKLEDGER_TOKEN": token}
    ours, theirs = os.pipe()
    out = os.fdopen(ours, encoding="utf-8")
    command = in_words(folder, ["--db", db, "serve", "--port", "0", *arguments])
    process = forks.start(command, folder, stdout=theirs, stderr=subprocess.DEVNULL, surroundings=environment() | said)
    os.close(theirs)
    try:
        line = out.readline()
        assert line.startswith("dashboard "), line
        login = line.strip().removeprefix("dashboard ")
        port = re.search(r":(\d+)", login.removeprefix("http:"))
        uds = folder / arguments[arguments.index("--uds") + 1] if "--uds" in arguments else None
        yield Dashboard(process, int(port[1]) if port else 0, login, uds)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        out.close()
