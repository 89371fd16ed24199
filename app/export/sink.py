"""Where lines go: counted and hashed, compressed where asked, the same bytes every time."""

import gzip
from collections.abc import Iterable
from itertools import islice
from typing import BinaryIO, Protocol, cast

import zstandard

from app.export.hashing import Hashing, Written
from app.export.request import Container, Format, Packing

GZIP_LEVEL = 6
AT_ONCE = 16  # lines that are joined: few, so that they are hashed and written while the processor has them at hand
ZSTD_LEVEL = 3


class Sink(Protocol):
    """Takes lines. The same lines are the same bytes."""

    @property
    def rows(self) -> int:
        """How many lines were taken."""
        ...

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines."""

    @property
    def so_far(self) -> tuple[int, str]:
        """The bytes of all lines up to now, and their hash."""
        ...

    def finish(self) -> Written:
        """End what is written; the stream itself stays open."""
        ...

    def close(self) -> None:
        """Let go of the stream, finished or not: what goes away later writes nothing to it."""


class LineSink:
    """Takes lines as they are. `stream` is None where only sizes and hashes are wanted."""

    def __init__(self, stream: BinaryIO | None, packing: Packing = Packing.PLAIN) -> None:
        self._file = Hashing(stream)
        self._packer = _packer(self._file, packing)
        # A plain file is its lines: hashing them twice took a tenth of an export.
        self._lines = self._file if self._packer is None else Hashing(self._packer)
        self.rows = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines."""
        lines = iter(lines)
        while some := list(islice(lines, AT_ONCE)):
            self.rows += len(some)
            self._lines.write(b"".join(some))

    def go_on_after(self, chunks: Iterable[bytes], rows: int) -> None:
        """Count and hash the lines that an export left which was cut off; of a file that is not compressed only."""
        assert self._packer is None
        for chunk in chunks:
            self._file.saw(chunk)
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

    def close(self) -> None:
        """Let go of the stream: a compressor that goes away writes its end."""
        self._file.cut()


def sink_of(stream: BinaryIO | None, container: Container) -> Sink:
    """What takes the lines of an export that goes into such a file."""
    match container.format:
        case Format.JSONL:
            return LineSink(stream, container.packing)
        case Format.PARQUET:
            from app.export.parquet import TableSink

            return TableSink(stream, container.preset)


def _packer(file: Hashing, packing: Packing) -> gzip.GzipFile | zstandard.ZstdCompressionWriter | None:
    onward = cast("BinaryIO", file)
    match packing:
        case Packing.PLAIN:
            return None
        case Packing.GZIP:  # no name and no time in the header: the same lines are the same file
            return gzip.GzipFile(filename="", mode="wb", compresslevel=GZIP_LEVEL, fileobj=onward, mtime=0)
        case Packing.ZSTD:
            return zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(onward, closefd=False)
