"""The lock file of a worker: the kernel frees it at kill -9, so a dead worker is known at once, whatever clocks do.

One file a worker, `<store>.workers/<uuid>`. Only the holder, or a rescuer that holds the lock, unlinks it. A missing
file proves nothing. Servers hold one too, under `server-<uuid>`, so that a restore knows of them; whoever must be alone
with a store holds `maintenance` there, and nobody else starts meanwhile.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.model.errors import Refused, Unavailable
from app.store.locked_file import create_locked, named_files, still_there, take_free

MAINTENANCE = "maintenance"
SERVER = "server-"
_PROBE = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock file that this process holds until `free`."""

    path: Path
    descriptor: int

    def free(self) -> None:
        """Unlink the file and let it go, in this order: nobody can take a lock that proves nothing any more."""
        self.path.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Leave the file there for whoever looks, and finds by it that we are gone."""
        os.close(self.descriptor)


def take(folder: Path, uuid: str) -> HeldLock:
    """Create and hold the lock file of a new worker or server. Raises Unavailable while somebody must be alone."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / uuid
    lock = HeldLock(path, create_locked(path))
    if _is_held(folder / MAINTENANCE):  # looked at after our own lock is there: one of the two sees the other
        lock.free()
        raise Unavailable(f"{_store(folder)} is being restored, upgraded or copied. Start this again after that.")
    return lock


@contextmanager
def server(folder: Path, uuid: str) -> Iterator[None]:
    """Be known as a running server; files of servers that were killed are swept away."""
    lock = take(folder, f"{SERVER}{uuid}")
    try:
        for path in folder.glob(f"{SERVER}*"):
            dead = take_from_dead(folder, path.name)
            if dead is not None:
                dead.free()
        yield
    finally:
        lock.free()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one: raises Refused while a worker or a server runs, and keeps others from starting."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / MAINTENANCE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    lock = HeldLock(path, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Refused(f"Another restore, upgrade or copy of {_store(folder)} is running.") from None
    try:
        if not still_there(path, descriptor):
            raise Refused(f"Another restore, upgrade or copy of {_store(folder)} has just ended. Look, then try again.")
        _refuse_company(folder)
        yield
    finally:
        lock.free()


def _refuse_company(folder: Path) -> None:
    names = [path.name for path in named_files(folder) if path.name != MAINTENANCE and _is_held(path)]
    servers = sum(name.startswith(SERVER) for name in names)
    if names:
        workers = len(names) - servers
        raise Refused(
            f"{workers} worker{'s' * (workers != 1)} and {servers} server{'s' * (servers != 1)} are running on "
            f"{_store(folder)}. Stop them first; nothing was changed."
        )


def _store(folder: Path) -> str:
    """The store whose lock files lie in `folder`."""
    return str(folder).removesuffix(".workers")


def _is_held(path: Path) -> bool:
    """Whether somebody holds this lock file."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def gone(folder: Path, uuids: Iterable[str]) -> frozenset[str]:
    """Those workers of whom it is certain that their process has ended: their lock files are there, held by nobody."""
    return frozenset(uuid for uuid in uuids if _is_left(folder / uuid))


def _is_left(path: Path) -> bool:
    """A file that cannot be opened tells nothing, and neither does one where locks keep nobody out."""
    try:
        with path.open("rb") as looks, path.open("rb") as tests:
            fcntl.flock(looks, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return _keeps_out(tests.fileno())
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return False


def _keeps_out(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def take_from_dead(folder: Path, uuid: str) -> HeldLock | None:
    """The lock of a worker that no longer holds it; None while it lives, or where the file tells nothing."""
    descriptor = take_free(folder / uuid)
    return None if descriptor is None else HeldLock(folder / uuid, descriptor)


def conflicts(lock: HeldLock) -> bool:
    """Whether another process is kept out by our lock; where it is not, liveness must rest on heartbeats alone."""
    probe = subprocess.run(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-I", "-S", "-c", _PROBE, str(lock.path)], capture_output=True, check=False
    )
    return b"BlockingIOError" in probe.stderr
