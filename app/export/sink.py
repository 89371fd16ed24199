"""Where lines go: counted and hashed, compressed where asked, the same bytes every time."""

import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

import zstandard

from app.export.request import Packing

GZIP_LEVEL = 6
ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Written:
    """Sizes and hashes: of the file as it lies, and of the lines in it."""

    rows: int
    bytes: int
    sha256: str
    line_bytes: int
    line_sha256: str


class _Stream(Protocol):
    def write(self, data: bytes, /) -> int: ...


class _Hashing:
    """Passes bytes on, and knows how many and their hash."""

    def __init__(self, onward: _Stream | None) -> None:
        self._onward = onward
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        if self._onward is not None:
            self._onward.write(data)
        return len(data)

    def saw(self, data: bytes) -> None:
        """Count and hash bytes that lie where they belong already."""
        self._hash.update(data)
        self.bytes += len(data)

    def flush(self) -> None:
        """Compressors ask for it; whoever owns the file flushes it."""

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


class Sink:
    """Takes lines. `stream` is None where only sizes and hashes are wanted."""

    def __init__(self, stream: BinaryIO | None, packing: Packing) -> None:
        self._file = _Hashing(stream)
        self._packer = _packer(self._file, packing)
        self._lines = _Hashing(self._packer or self._file)
        self._plain = packing is Packing.PLAIN
        self.rows = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines."""
        kept = list(lines)
        self.rows += len(kept)
        self._lines.write(b"".join(kept))

    def go_on_after(self, chunks: Iterable[bytes], rows: int) -> None:
        """Count and hash the lines that an export left which was cut off; of a file that is not compressed only."""
        assert self._plain
        for chunk in chunks:
            self._file.saw(chunk)
            self._lines.saw(chunk)
        self.rows = rows

    @property
    def so_far(self) -> tuple[int, str]:
        """The bytes of all lines up to now, and their hash."""
        return self._lines.bytes, self._lines.sha256

    def finish(self) -> Written:
        """End the compressed frame; the stream itself stays open."""
        if self._packer is not None:
            self._packer.close()
        return Written(self.rows, self._file.bytes, self._file.sha256, self._lines.bytes, self._lines.sha256)


def _packer(file: _Hashing, packing: Packing) -> gzip.GzipFile | zstandard.ZstdCompressionWriter | None:
    onward = cast("BinaryIO", file)
    match packing:
        case Packing.PLAIN:
            return None
        case Packing.GZIP:  # no name and no time in the header: the same lines are the same file
            return gzip.GzipFile(filename="", mode="wb", compresslevel=GZIP_LEVEL, fileobj=onward, mtime=0)
        case Packing.ZSTD:
            return zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(onward, closefd=False)
