"""A process that has imported the product and forks: each child is a command of its own, a second's imports spared.

It has no thread, no event loop and no connection, so a child begins as a fresh interpreter would after its imports.
Requests come as lines of JSON on standard input; starts and ends go out as lines on standard output.
"""

import gc
import json
import os
import random
import select
import signal
import sys
import traceback
from typing import Any

from tests.drill import launch
from tests.drill.orders import Orders

PRELOADED = (
    "worker.cli", "worker.supervisor", "worker.log", "app.store.store", "app.store.migrations", "app.intake.importing",
    "app.intake.request", "app.export.exporting", "app.export.check", "app.responses.rereading",
    "app.responses.rewriting", "app.responses.versions", "worker.bar", "anyio._backends._asyncio", "asyncio",
    "aiohttp", "sqlalchemy.ext.asyncio", "sqlalchemy.dialects.sqlite.aiosqlite", "uvloop",
)  # fmt: skip


def main() -> None:
    """Serve until standard input ends; whoever still lives then is killed."""
    import importlib

    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    children: set[int] = set()
    pending = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _reap(children)
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                children.add(_bear(json.loads(line)))
    for child in children:
        os.kill(child, signal.SIGKILL)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _tell(pid=pid, code=os.waitstatus_to_exitcode(status))


def _tell(**facts: int) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def _bear(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        _live(request)
    _tell(number=request["number"], pid=pid)
    return pid


def _live(request: dict[str, Any]) -> None:
    """The child's whole life; it never comes back."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.closerange(3, 64)
        os.chdir(request["folder"])
        random.seed()
        launch.obey(Orders.from_text(request["orders"]))
        code = launch.run(request["command"])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the fork must not go on as its parent, whatever happened
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
