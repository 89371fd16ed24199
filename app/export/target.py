"""The file of an export: written beside its place, made durable, read back, and only then given its name."""

import errno
import fcntl
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from app.export.request import ExportRequest, Packing
from app.export.sink import Sink, Written
from app.model.errors import IntegrityFailure, NotFound, Refused, ResourceExhausted, ThinkledgerError

CHUNK = 2**20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def refuse_target(request: ExportRequest) -> None:
    """Refuse a place where something lies already, or where nothing can lie."""
    if request.target is None:
        return
    if not request.target.parent.is_dir():
        raise NotFound(f"{request.target.parent} is no folder, so nothing can be exported to it. Create it first.")
    if request.target.is_dir():
        raise Refused(f"{request.target} is a folder. Name a file with --output.")
    for path in (request.target, request.manifest_path):
        if path is not None and path.exists() and not request.overwrite:
            raise Refused(f"{path} exists. --overwrite replaces it, --output names another file.")


class Part:
    """`PATH.part` while it is written. Its lock keeps a second export of the same file out."""

    def __init__(self, request: ExportRequest, target: Path) -> None:
        self._request = request
        self._target = target
        self.path = target.with_name(target.name + ".part")
        self._placed = False
        self._file = self._open()
        self.sink = Sink(self._file, request.packing)

    def _open(self) -> BinaryIO:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Refused(
                f"{self.path} is being written by another export. Wait for it, or name another file."
            ) from error
        os.ftruncate(descriptor, 0)  # what an export left that was killed
        return os.fdopen(descriptor, "wb", buffering=CHUNK)

    def seal(self) -> Written:
        """Make it durable, and check that what lies there is what was written."""
        written = self.sink.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        if (found := read_back(self.path, self._request.packing)) != written:
            raise IntegrityFailure(
                f"{self.path} does not hold what was written to it: {found.rows:,} rows and {found.bytes:,} bytes of "
                f"{written.rows:,} and {written.bytes:,}. Check the disk; nothing was put in place."
            )
        return written

    def put_in_place(self) -> None:
        """Give it its name. An older manifest goes first: it would speak of another file."""
        refuse_target(self._request)
        if self._request.manifest_path is not None:
            self._request.manifest_path.unlink(missing_ok=True)
        self.path.replace(self._target)
        self._placed = True
        sync_folder(self._target.parent)

    def close(self) -> None:
        """Close it; what has no name yet is removed while its lock is still held."""
        if not self._placed:
            self.path.unlink(missing_ok=True)
        self._file.close()


@contextmanager
def part(request: ExportRequest, target: Path) -> Iterator[Part]:
    """The part file; it is gone afterwards, by its name or by removal."""
    with disk_errors(target):
        made = Part(request, target)
        try:
            yield made
        finally:
            made.close()


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
        return ResourceExhausted(f"The disk of {path} is full. Free some space, or export to another with --output.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ResourceExhausted(f"{path} cannot be written by this user. Name another file with --output.")
    return ResourceExhausted(f"{path} could not be written: {error.strerror or error}.")


def write_durably(path: Path, text: str) -> None:
    """A small file that is there as a whole or not at all."""
    part_path = path.with_name(path.name + ".part")
    with disk_errors(path):
        descriptor = os.open(part_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part_path.replace(path)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_back(path: Path, packing: Packing) -> Written:
    """Rows, sizes and hashes of a file as it lies on the disk."""
    file_bytes, file_sha256, rows = _facts(path, Packing.PLAIN)
    if packing is Packing.PLAIN:
        return Written(rows, file_bytes, file_sha256, file_bytes, file_sha256)
    line_bytes, line_sha256, rows = _facts(path, packing)
    return Written(rows, file_bytes, file_sha256, line_bytes, line_sha256)


def _facts(path: Path, packing: Packing) -> tuple[int, str, int]:
    """Bytes, hash and line ends of what `opened` gives."""
    digest, size, rows = hashlib.sha256(), 0, 0
    with opened(path, packing) as file:
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
            rows += data.count(b"\n")
    return size, digest.hexdigest(), rows


@contextmanager
def opened(path: Path, packing: Packing) -> Iterator[BinaryIO]:
    """The lines of a file, unpacked."""
    with path.open("rb") as file:
        match packing:
            case Packing.PLAIN:
                yield file
            case Packing.GZIP:
                with gzip.open(file) as unpacked:
                    yield cast("BinaryIO", unpacked)
            case Packing.ZSTD:
                reader = zstandard.ZstdDecompressor().stream_reader(file, closefd=False)
                yield io.BufferedReader(cast("io.RawIOBase", reader), CHUNK)  # it has no lines of its own
