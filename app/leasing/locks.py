"""The lock file of a worker: the kernel frees it at kill -9, so a dead worker is known at once, whatever clocks do.

One file a worker, `<store>.workers/<uuid>`. Only the holder, or a rescuer that holds the lock, unlinks it. A missing
file proves nothing.
"""

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_PROBE = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock file that this process holds until `free`."""

    path: Path
    descriptor: int

    def free(self) -> None:
        """Unlink the file and let it go, in this order: nobody can take a lock that proves nothing any more."""
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def take(folder: Path, uuid: str) -> HeldLock:
    """Create and hold the lock file of a new worker."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / uuid
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return HeldLock(path, descriptor)


def take_from_dead(folder: Path, uuid: str) -> HeldLock | None:
    """The lock of a worker that no longer holds it; None while it lives, or where the file tells nothing."""
    path = folder / uuid
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if not _still_there(path, descriptor):
        os.close(descriptor)
        return None
    return HeldLock(path, descriptor)


def _still_there(path: Path, descriptor: int) -> bool:
    """Whether the name still means the file that is locked; another rescuer may have unlinked it meanwhile."""
    held = os.fstat(descriptor)
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def conflicts(lock: HeldLock) -> bool:
    """Whether another process is kept out by our lock; where it is not, liveness must rest on heartbeats alone."""
    probe = subprocess.run(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-I", "-S", "-c", _PROBE, str(lock.path)], capture_output=True, check=False
    )
    return b"BlockingIOError" in probe.stderr
