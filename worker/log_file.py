"""A log in a file of its own, which is set aside when it has grown."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from app.model.errors import UsageError

MOST = 16 * 2**20  # bytes of one file
KEPT = 4  # older ones: PATH.1 is the newest of them


def open_log(path: Path) -> "LogFile":
    """A log in that file, which is made where it is absent. UsageError where it cannot be written to."""
    try:
        os.close(_opened(path))
    except OSError as error:
        raise UsageError(
            f"--log-file {path} cannot be written to ({error.strerror or error}). "
            "Name a file in a folder that is there and that this user may write to."
        ) from error
    return LogFile(path)


class LogFile:
    """Appends lines, from several threads or processes as well: each line is whole, and none is lost in between."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        self._path = path
        self._most = most

    def __call__(self, line: str) -> None:
        """Append one line, opened anew each time: a file that was moved away by others is followed no further."""
        data = line.encode(errors="backslashreplace")
        while not self._appended(data):
            pass  # the file was set aside, by us or by another one: the next one is opened

    def _appended(self, data: bytes) -> bool:
        """Only who holds the lock of the file that has the name now writes to it or sets it aside."""
        descriptor = _opened(self._path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not self._is_named(descriptor):
                return False
            size = os.fstat(descriptor).st_size
            if size and size + len(data) > self._most:
                self._set_aside()
                return False
            os.write(descriptor, data)
            return True
        finally:
            os.close(descriptor)

    def _is_named(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _set_aside(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._numbered(number - 1) if number > 1 else self._path
            with suppress(FileNotFoundError):
                older.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
