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
from app.export.unfinished import Unfinished, notes_of
from app.model.errors import IntegrityFailure, NotFound, Refused, ResourceExhausted, ThinkledgerError, Unavailable

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
    """`PATH.part` while it is written, with its notes beside it. Its lock keeps a second export of the file out."""

    def __init__(self, request: ExportRequest, target: Path) -> None:
        self._request = request
        self._target = target
        self.path = part_of(target)
        self._file, self._found_bytes = _locked(self.path)
        self._begun = self._noted = self._placed = False
        self.sink: Sink  # made where it is begun: a compressor writes at once, and again when it goes away

    def begin(self) -> None:
        """Start with the first line: what an export left that was cut off goes."""
        self._begun, self._found_bytes = True, 0
        self._file.seek(0)
        self._file.truncate(0)
        self.sink = Sink(self._file, self._request.packing)

    def go_on(self, unfinished: Unfinished) -> None:
        """Start after the lines that lie there already, or with the first where they are not what the notes say.

        Of a compressed file they are made anew: compressors cannot go on where another process stopped.
        """
        place = unfinished.place
        sink = Sink(self._file, Packing.PLAIN)
        if self._request.packing is Packing.PLAIN and place.bytes <= self._found_bytes:
            sink.go_on_after(_first_bytes(self.path, place.bytes), unfinished.walked.rows)
        if sink.so_far != (place.bytes, place.sha256):
            self.begin()
            unfinished.from_the_start()
            return
        self.sink, self._begun = sink, True
        self._file.seek(place.bytes)
        self._file.truncate(place.bytes)

    def note(self, unfinished: Unfinished) -> None:
        """Make the lines so far durable, then write down how far they go."""
        self._file.flush()
        os.fsync(self._file.fileno())
        write_durably(notes_of(self.path), unfinished.to_json())
        self._noted = True

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

    def is_placed(self, unfinished: Unfinished) -> bool:
        """Whether the file has its name already and only the end is missing: killed between two renames."""
        if unfinished.sealed is None or self._found_bytes or not self._target.is_file():
            return False
        return read_back(self._target, self._request.packing) == unfinished.sealed

    def forget(self) -> None:
        """The export is whole: nothing is left to go on with."""
        notes_of(self.path).unlink(missing_ok=True)

    def close(self, error: BaseException | None = None) -> None:
        """Close it; what nobody can go on with is removed while its lock is still held."""
        try:
            if not self._placed and not self._is_worth_keeping(error):
                self.path.unlink(missing_ok=True)
                if self._begun:
                    self.forget()
        finally:
            self._file.close()

    def _is_worth_keeping(self, error: BaseException | None) -> bool:
        """Of an export before us that was cut off, or of ours if the same could end well another time."""
        if not self._begun:
            return self._found_bytes > 0
        final = isinstance(error, ThinkledgerError) and not isinstance(error, ResourceExhausted | Unavailable)
        return self._noted and error is not None and not final


def part_of(target: Path) -> Path:
    """The name of an exported file until it is whole."""
    return target.with_name(target.name + ".part")


def _locked(path: Path) -> tuple[BinaryIO, int]:
    """The file of that name, locked, and its size. A lock on a file that has another name by now is none.

    Between our open and our lock the export that held it may have finished, and the file is the finished one.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Refused(f"{path} is being written by another export. Wait for it, or name another file.") from error
        held = os.fstat(descriptor)
        if _has_name(path, held):
            return os.fdopen(descriptor, "wb", buffering=CHUNK), held.st_size
        os.close(descriptor)


def _has_name(path: Path, held: os.stat_result) -> bool:
    try:
        named = path.lstat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _first_bytes(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while size and (data := file.read(min(CHUNK, size))):
            size -= len(data)
            yield data


@contextmanager
def part(request: ExportRequest, target: Path) -> Iterator[Part]:
    """The part file. Afterwards it has its name, or waits to be gone on with, or is gone."""
    with disk_errors(target):
        made = Part(request, target)
        try:
            yield made
        except BaseException as error:
            made.close(error)
            raise
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
