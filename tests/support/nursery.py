"""A process that has imported the product and forks: each child is a command of its own that spares the imports.

It has no thread, no event loop and no connection, so a child begins as a fresh interpreter would after its imports, and
ends as one: through the interpreter's own shutdown. Requests come as messages on a socket, each with the child's
standard streams; starts and ends go back. When its other side is gone, whoever still lives is killed.
"""

import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
from typing import Any

PRELOADED = (
    "worker.cli", "worker.supervisor", "worker.log", "app.store.store", "app.store.migrations", "app.intake.importing",
    "app.intake.request", "app.export.exporting", "app.export.check", "app.responses.rereading",
    "app.responses.rewriting", "app.responses.versions", "worker.bar", "anyio._backends._asyncio", "asyncio",
    "aiohttp", "sqlalchemy.ext.asyncio", "sqlalchemy.dialects.sqlite.aiosqlite", "uvloop", "worker.simulator.server",
    "uvicorn", "app.web.site",
)  # fmt: skip
LARGEST_MESSAGE = 200_000


class Nursery:
    """The loop: bear whom the socket asks for, tell who was born and who ended."""

    def __init__(self, asking: socket.socket) -> None:
        self._asking = asking
        self._children: set[int] = set()

    def serve(self) -> None:
        """Until the other side is gone."""
        woken, wakes = os.pipe()
        os.set_blocking(wakes, False)
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes)
        while True:
            ready, _, _ = select.select([self._asking, woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
                self._reap()
            if self._asking in ready:
                message, streams, _, _ = socket.recv_fds(self._asking, LARGEST_MESSAGE, 3)
                if not message:
                    break
                self._bear(json.loads(message), streams)
        for child in self._children:
            os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            self._tell(pid=pid, code=os.waitstatus_to_exitcode(status))

    def _tell(self, **facts: int) -> None:
        self._asking.send(json.dumps(facts).encode())

    def _bear(self, request: dict[str, Any], streams: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            self._asking.detach()
            sys.exit(_live(request, streams))
        self._children.add(pid)
        for stream in streams:
            os.close(stream)
        self._tell(number=request["number"], pid=pid)


def _live(request: dict[str, Any], streams: list[int]) -> int:
    """The child's work; its exit code."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.closerange(3, 64)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    random.seed()
    module, _, name = request["entry"].partition(":")
    entry = getattr(importlib.import_module(module), name)
    code: int = entry(request["arguments"])
    return code


def main() -> None:
    """Serve on the socket whose descriptor is the only argument."""
    asking = socket.socket(fileno=int(sys.argv[1]))
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    Nursery(asking).serve()


if __name__ == "__main__":
    main()
