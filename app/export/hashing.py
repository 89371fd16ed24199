"""Bytes that are counted and hashed on their way, and what a file came to."""

import hashlib
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of an export. `line_sha256` is that of the lines in it, where the file can say them again."""

    rows: int
    bytes: int
    sha256: str
    line_sha256: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """Sizes and hashes: of the file as it lies, and of the lines in it. Of shards, of one after another."""

    rows: int
    bytes: int
    sha256: str
    line_bytes: int
    line_sha256: str
    pieces: tuple[Piece, ...] = ()  # where they went into files


class Stream(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> int:
        """Take them all."""


class Hashing:
    """Passes bytes on, and knows how many and their hash."""

    def __init__(self, onward: Stream | None) -> None:
        self._onward = onward
        self._hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> int:
        self.saw(data)
        if self._onward is not None:
            self._onward.write(data)
        return len(data)

    def saw(self, data: bytes) -> None:
        """Count and hash bytes that lie where they belong already."""
        self._hash.update(data)
        self.bytes += len(data)

    def cut(self) -> None:
        """Pass nothing on any more."""
        self._onward = None

    def flush(self) -> None:
        """Compressors ask for it; whoever owns the file flushes it."""

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()
