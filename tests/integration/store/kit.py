"""How the tests of the store open one, look at what lies around it, and start other processes."""

import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio import to_thread
from hypothesis import HealthCheck, settings
from sqlalchemy import insert

from app.store.store import Store, open_store
from app.store.tables import EVENT
from app.store.transaction import Tx
from tests.support.kinds import db, kind

ROOT = Path(__file__).parents[3]
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
Result = TypeVar("Result")


def examples(few: int, **more: Any) -> settings:
    """So many examples, or a hundred times as many with HYPOTHESIS_PROFILE=deep."""
    return settings(
        max_examples=few * 100 if DEEP else few,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def run(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run to the end; an error comes out as itself, without the group that a task group puts around it."""
    try:
        return anyio.run(work)
    except BaseExceptionGroup as group:
        raise only(group) from None


def only(error: BaseException) -> BaseException:
    """The error inside of groups of one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def in_store(path: Path | str, work: Callable[[Store], Awaitable[Result]], **options: Any) -> Result:
    """Open the store at `path`, made if need be, and work in it."""

    async def opened() -> Result:
        async with open_store(db(path), **({"create": True} | options)) as store:
            return await work(store)

    return run(opened)


async def nothing(_store: Store) -> None:
    """Open and close."""


def make(path: Path) -> None:
    """An empty store."""
    in_store(path, nothing)


async def note(tx: Tx, kinds: Sequence[str | None]) -> list[str | None]:
    """An operation for these tests: one event a kind. None is a row that the store refuses."""
    for one in kinds:
        await tx.run(insert(EVENT), {"at_ms": 1, "kind": one})
    return list(kinds)


class Halt:
    """Where a test lets an operation stand: in its thread on a file, in the event loop on a server."""

    def __init__(self) -> None:
        new: Any = threading.Event if kind() == "sqlite" else anyio.Event
        self._entered, self._free = new(), new()

    async def stand(self) -> None:
        """Of the operation: say that it is here, and wait."""
        self._entered.set()
        if kind() == "sqlite":
            self._free.wait()
        else:
            await self._free.wait()

    async def entered(self) -> None:
        """Of the test: wait until it is here."""
        await (to_thread.run_sync(self._entered.wait) if kind() == "sqlite" else self._entered.wait())

    def go_on(self) -> None:
        self._free.set()


def around(folder: Path) -> dict[str, tuple[bytes | None, int, int]]:
    """Everything in a folder: content, mode and time of change, to see that nothing was touched."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        found[str(path)] = (path.read_bytes() if path.is_file() else None, facts.st_mode, facts.st_mtime_ns)
    return found


@contextmanager
def process(verb: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """A real process of `processes.py`; killed at the end if it still runs."""
    command = [sys.executable, "-m", "tests.integration.store.processes", verb, *(str(arg) for arg in args)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def holder(path: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A process that keeps every writer out of the store at `path` until it is told a line."""
    return process("hold", db(path))


def says(started: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert started.stdout is not None
    return started.stdout.readline().strip()


def tell(started: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line go on."""
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()
