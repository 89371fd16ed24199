"""The files that an export is written to: one, or a new one after every so many rows."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from app.export.disk import CHUNK
from app.export.hashing import Hashing, Piece, Written
from app.export.request import Container, Format
from app.export.sink import LineSink, Sink, sink_of


def piece_of(written: Written, container: Container) -> Piece:
    """One file as the manifest speaks of it; of a table the lines cannot be had again byte for byte."""
    lines = written.line_sha256 if container.format is Format.JSONL else None
    return Piece(written.rows, written.bytes, written.sha256, lines)


class Single:
    """All lines in one open file."""

    def __init__(self, file: BinaryIO, container: Container, sink: Sink | None = None) -> None:
        self._file, self._container = file, container
        self._sink = sink or sink_of(file, container)

    @property
    def rows(self) -> int:
        return self._sink.rows

    def write(self, lines: Iterable[bytes]) -> None:
        self._sink.write(lines)

    @property
    def so_far(self) -> tuple[int, str]:
        return self._sink.so_far

    def finish(self) -> Written:
        written = self._sink.finish()
        _make_durable(self._file)
        return replace(written, pieces=(piece_of(written, self._container),))

    def make_durable(self) -> None:
        """What was written so far survives."""
        _make_durable(self._file)

    def close(self) -> None:
        """The file is its owner's."""
        self._sink.close()


class Shards:
    """Files of `size` rows each but the last. `path` says how the file of a number is called."""

    def __init__(self, path: Callable[[int], Path], size: int, container: Container) -> None:
        self._path, self._size, self._container = path, size, container
        self._bytes, self._lines = Hashing(None), Hashing(None)
        self._done: list[Piece] = []
        self._open: tuple[BinaryIO, Sink] | None = None

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self._done) + (0 if self._open is None else self._open[1].rows)

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines; a file that is full is made durable and closed."""
        kept = list(lines)
        self._lines.saw(b"".join(kept))
        while kept:
            sink = self._current()
            room = self._size - sink.rows
            sink.write(kept[:room])
            kept = kept[room:]
            if sink.rows == self._size:
                self._end_piece()

    def go_on_after(self, rows: int, size: int) -> None:
        """Go on after the first `size` bytes, which are `rows` lines; of files that are not compressed only."""
        whole, rest = divmod(rows, self._size)
        for number in range(whole):
            sink = LineSink(None)
            sink.go_on_after(self._seen(number, None), self._size)
            self._done.append(piece_of(sink.finish(), self._container))
        left = size - self._lines.bytes
        if rest and left >= 0:
            file = _opened(self._path(whole), fresh=False)
            sink = LineSink(_both(file, self._bytes))
            self._open = file, sink
            sink.go_on_after(self._seen(whole, left), rest)
            file.seek(left)
            file.truncate(left)

    def _seen(self, number: int, size: int | None) -> Iterator[bytes]:
        """The first bytes of a file that lies there, counted and hashed with all others."""
        for chunk in first_bytes(self._path(number), size):
            self._bytes.saw(chunk)
            self._lines.saw(chunk)
            yield chunk

    @property
    def so_far(self) -> tuple[int, str]:
        """The bytes of all lines up to now, and their hash."""
        return self._lines.bytes, self._lines.sha256

    def finish(self) -> Written:
        """End the last file. An export without a row has one, without a row."""
        if self._open is None and not self._done:
            self._current()
        if self._open is not None:
            self._end_piece()
        lines, files = self._lines, self._bytes
        return Written(self.rows, files.bytes, files.sha256, lines.bytes, lines.sha256, tuple(self._done))

    def make_durable(self) -> None:
        """What was written so far survives."""
        if self._open is not None:
            _make_durable(self._open[0])

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            file, sink = self._open
            sink.close()
            file.close()

    def _current(self) -> Sink:
        if self._open is None:
            file = _opened(self._path(len(self._done)), fresh=True)
            self._open = file, sink_of(_both(file, self._bytes), self._container)
        return self._open[1]

    def _end_piece(self) -> None:
        assert self._open is not None
        file, sink = self._open
        self._done.append(piece_of(sink.finish(), self._container))
        sink.close()
        _make_durable(file)
        file.close()
        self._open = None


def _both(file: BinaryIO, hashing: Hashing) -> BinaryIO:
    return cast("BinaryIO", _Both(file, hashing))


class _Both:
    """Bytes go into a file, and are counted and hashed with those of the other files."""

    def __init__(self, file: BinaryIO, hashing: Hashing) -> None:
        self._file, self._hashing = file, hashing

    def write(self, data: bytes) -> int:
        self._hashing.saw(data)
        return self._file.write(data)


def first_bytes(path: Path, size: int | None) -> Iterator[bytes]:
    """The first bytes of a file; all of them where no size is said."""
    with path.open("rb") as file:
        while size != 0 and (data := file.read(CHUNK if size is None else min(CHUNK, size))):
            size = None if size is None else size - len(data)
            yield data


def _make_durable(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _opened(path: Path, *, fresh: bool) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_TRUNC if fresh else 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb", buffering=CHUNK)
