"""A connection of its own, in a thread, for what takes long; interrupted at once when its caller is cancelled."""

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from app.model.errors import ThinkledgerError, Unavailable
from app.store.engines import BUSY_TIMEOUT_MS
from app.store.faults import as_error, classify_driver
from app.store.place import Place

Result = TypeVar("Result")


async def apart(place: Place, work: Callable[[sqlite3.Connection], Result]) -> Result:
    """What `work` returns. The library is the process's only one, so no lock of another connection is dropped."""
    job = _Job(place, work)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_until_cancelled, job.stop)
        result = await to_thread.run_sync(job.run)
        tasks.cancel_scope.cancel()
    return result


async def _until_cancelled(stop: Callable[[], None]) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop()


@dataclass(slots=True)
class _Job(Generic[Result]):
    place: Place
    work: Callable[[sqlite3.Connection], Result]
    _connection: sqlite3.Connection | None = None
    _stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> Result:
        connection = sqlite3.connect(
            self.place.path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        with self._lock:
            self._connection = connection
            stopped = self._stopped
        try:
            if stopped:
                raise _interrupted()
            connection.execute("PRAGMA mmap_size=0")
            connection.execute("PRAGMA trusted_schema=OFF")
            return self.work(connection)
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error
        finally:
            with self._lock:
                self._connection = None
                connection.close()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._connection is not None:
                self._connection.interrupt()


def _interrupted() -> ThinkledgerError:
    return Unavailable("It was interrupted; nothing of it is left.")


def _translated(error: sqlite3.DatabaseError) -> ThinkledgerError:
    if getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
        return _interrupted()
    return as_error(classify_driver(error), error)
