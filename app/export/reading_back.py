"""A file of an export as it lies on the disk: what it holds, and its lines."""

import gzip
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from app.export.disk import CHUNK
from app.export.hashing import Piece
from app.export.request import Container, Format, Packing


def read_back(path: Path, container: Container) -> Piece:
    """Rows, size and hashes of a file as it lies on the disk."""
    size, sha256, line_ends = _facts(path, Packing.PLAIN)
    if container.format is Format.PARQUET:
        return Piece(_rows_of_table(path), size, sha256, None)
    if container.packing is Packing.PLAIN:
        return Piece(line_ends, size, sha256, sha256)
    _, line_sha256, rows = _facts(path, container.packing)
    return Piece(rows, size, sha256, line_sha256)


def _rows_of_table(path: Path) -> int:
    """-1 where it is no table: no export has so many rows."""
    import pyarrow as pa

    from app.export.parquet import rows_of

    try:
        return rows_of(path)
    except pa.ArrowException:
        return -1


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
