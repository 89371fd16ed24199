"""A file as rows, one at a time: plain, gzip (several members) or zstd, told by its first bytes, or standard input.

Memory stays the same whatever the file's size or its longest line.
"""

import gzip
import hashlib
import io
import select
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import zstandard

from app.intake.no_data import DATABASE, LOOKED_AT, refuse_no_data
from app.intake.parquet import ParquetRows
from app.intake.split import CHUNK, Line, split_for
from app.model.errors import ResourceExhausted

STDIN = "-"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)


class Lines:
    """The rows of an open file, and what is known of the file when they have been read."""

    def __init__(self, raw: io.RawIOBase, size: int | None, name: str) -> None:
        self.size = size  # bytes, where it is known beforehand
        self.name = name
        self._meter = _Meter(raw)
        self._whole = False

    @property
    def bytes_read(self) -> int:
        return self._meter.count

    @property
    def sha256(self) -> str | None:
        """The hash of the file's bytes, once all of them were read."""
        return self._meter.digest.hexdigest() if self._whole else None

    def __iter__(self) -> Iterator[Line]:
        source = io.BufferedReader(self._meter, CHUNK)
        number = 0
        try:
            file = _decompressed(source, source.peek(4)[:4])
            refuse_no_data(self.name, file.peek(LOOKED_AT)[:LOOKED_AT])
            for line in split_for(self.name)(file):
                number = line.number
                yield line
        except _DAMAGE as error:
            yield Line(number + 1, b"", "damaged_file", self._damage(source.tell(), error))
            return
        except OSError as error:
            raise ResourceExhausted(
                f"{self.name} could not be read after line {number:,}: {error.strerror}. What was read before is kept; "
                "run the import again."
            ) from error
        self._whole = True

    def _damage(self, read_bytes: int, error: Exception) -> str:
        """Where a compressed file ends to make sense; a reader is ahead of the damage by less than 16 KiB."""
        of_all = "" if self.size is None else f" of {self.size:,}"
        sums = "CRC" in str(error) or "checksum" in str(error)
        anywhere = "; its check sum comes last, so any row of it may be damaged" if sums else ""
        return f"{self.name} cannot be unpacked beyond byte {read_bytes:,}{of_all}: {error}{anywhere}"


class Rows(Protocol):
    """The rows of an open file, whatever its container."""

    @property
    def name(self) -> str:
        """The file's name, for messages."""

    @property
    def size(self) -> int | None:
        """Bytes of the file, where they are known beforehand."""

    @property
    def bytes_read(self) -> int:
        """How many of them have been read."""

    @property
    def sha256(self) -> str | None:
        """The hash of the file's bytes, once all of them were read."""

    def __iter__(self) -> Iterator[Line]:
        """The rows in the file's order, once."""


@contextmanager
def open_lines(path: str) -> Iterator[Rows]:
    """The rows of the file at `path`, or of standard input for `-`."""
    if path.lower().endswith(".parquet"):
        yield ParquetRows(path)
        return
    if path == STDIN:
        with _Stoppable(0, closefd=False) as raw:
            yield Lines(raw, None, "standard input")
        return
    try:
        opened = _Stoppable(path)
    except OSError as error:
        raise ResourceExhausted(f"{path} cannot be read: {error.strerror}.") from error
    with opened as raw:
        yield Lines(raw, Path(path).stat().st_size or None, Path(path).name)


def look_at(path: str) -> None:
    """Refuse a file that is none of rows, before a store is made for it; a pipe is looked at when it is read.

    So is a database: it may be the store itself, which is refused as that, and which nobody else may open.
    """
    if not Path(path).is_file() or path.lower().endswith(".parquet"):
        return
    start = _start_of(path)
    if not start.startswith(DATABASE):
        refuse_no_data(Path(path).name, start)


def _start_of(path: str) -> bytes:
    """The first bytes of a file, unpacked; none where it cannot be read, which is said when it is read for good."""
    try:
        with Path(path).open("rb") as source:
            return _decompressed(source, source.peek(4)[:4]).peek(LOOKED_AT)[:LOOKED_AT]
    except (*_DAMAGE, OSError):
        return b""


def _decompressed(source: "io.BufferedReader[Any]", start: bytes) -> "gzip.GzipFile | io.BufferedReader[Any]":
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=source, mode="rb")
    if start == _ZSTD:
        return io.BufferedReader(_Zstd(source), CHUNK)
    return source


class _Stoppable(io.FileIO):
    """A file or pipe whose reader, in another thread, goes away soon after it is closed, even if nothing ever comes."""

    _LOOK_MS = 200
    _stopped = False

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        waiting = select.poll()
        waiting.register(self.fileno(), select.POLLIN)
        while not waiting.poll(self._LOOK_MS):
            if self._stopped:
                raise ValueError("closed while it was read")
        return super().readinto(buffer) or 0

    def close(self) -> None:
        self._stopped = True
        super().close()


class _Meter(io.RawIOBase):
    """Counts and hashes the bytes that pass."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.count = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        """The place in the file, from which the buffer above takes what nobody has read yet."""
        return self.count

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer) or 0
        self.digest.update(memoryview(buffer)[:count])
        self.count += count
        return count


class _Zstd(io.RawIOBase):
    """Frames one after another. The library's own stream reader takes a frame that is cut off for a whole one."""

    _STEP = 1024  # compressed bytes at a time: a block of 4 bytes may hold 128 KiB, so this bounds the memory

    def __init__(self, source: "io.BufferedReader[Any]") -> None:
        self._source = source
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._begun = False
        self._left = b""  # compressed bytes after the end of a frame
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        while not self._ready:
            step = self._left or self._source.read(self._STEP)
            if not step:
                if self._begun:
                    raise EOFError("compressed file ended before the end of a frame")
                return 0
            self._decompress(step)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompress(self, step: bytes) -> None:
        self._ready = memoryview(self._frame.decompress(step))
        self._begun = not self._frame.eof
        self._left = b""
        if self._frame.eof:
            self._left = self._frame.unused_data
            self._frame = zstandard.ZstdDecompressor().decompressobj()
