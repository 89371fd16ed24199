"""Files that one process holds by a lock (flock) that the kernel frees at kill -9: a free one is a dead process's."""

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_UNNAMED = "."  # a file that is being made; whoever probed its lock would keep its maker out


def create_locked(path: Path) -> int:
    """Make a file that nobody ever sees without our lock on it; its descriptor.

    Under its own name it would be unlocked for a moment, in which a rescuer takes it for one that a dead process left.
    Raises OSError where it cannot be made, as where the name is taken, and leaves nothing then.
    """
    if path.exists():  # a rename replaces; names are unique, so nobody makes the same one between the two
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    born = path.with_name(_UNNAMED + path.name)
    descriptor = os.open(born, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        born.rename(path)
    except OSError:
        born.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


def named_files(folder: Path) -> Iterator[Path]:
    """What lies in a folder of such files, but for those that are still being made."""
    return (path for path in folder.iterdir() if not path.name.startswith(_UNNAMED))


def take_free(path: Path) -> int | None:
    """The descriptor of a file that nobody holds any more, locked by us; None while it is held, or it is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if not still_there(path, descriptor):
        os.close(descriptor)
        return None
    return descriptor


def still_there(path: Path, descriptor: int) -> bool:
    """Whether the name still means the file that is locked; who held it before may have removed or renamed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
