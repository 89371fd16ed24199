"""What every file of an export needs of a disk: errors as sentences, small files as a whole, names that last."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.model.errors import ResourceExhausted, ThinkledgerError

CHUNK = 2**20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """What a disk refuses, as a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _as_error(path, error) from error


def _as_error(path: Path, error: OSError) -> ThinkledgerError:
    if error.errno in _FULL:
        return ResourceExhausted(
            f"The disk of {path} is full. Free some space, then the same command with --resume goes on; "
            "or export to another disk with --output."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ResourceExhausted(f"{path} cannot be written by this user. Name another file with --output.")
    return ResourceExhausted(f"{path} could not be written: {error.strerror or error}.")


def write_durably(path: Path, data: bytes) -> None:
    """A small file that is there as a whole or not at all."""
    new = path.with_name(path.name + ".new")
    with disk_errors(path):
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
