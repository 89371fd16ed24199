"""The spool file of one worker: records one after another in a reserve that was allocated before it was needed.

Whoever holds the file's lock (flock, freed by the kernel at kill -9) may write it; nobody else may.
"""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path

from app.spool.record import (
    HEAD_BYTES,
    STATE_AT,
    Head,
    SpooledAnswer,
    State,
    Torn,
    check,
    read_head,
    read_record,
    write_record,
)
from app.store.locked_file import create_locked, take_free

KEPT_SUFFIX = ".kept"
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Entry:
    """A record and where it stands."""

    offset: int
    head: Head


@dataclass(frozen=True, slots=True)
class Scan:
    """What a file holds: its records, where the next one goes, and how many bytes there are no whole record."""

    entries: tuple[Entry, ...]
    tail: int
    torn_bytes: int
    damaged: int  # records that are not what was written, with others behind them: a disk that forgot something


def scan(descriptor: int) -> Scan:
    """Read the records up to the end, or to a last one that is not whole."""
    entries: list[Entry] = []
    offset, damaged, size = 0, 0, os.fstat(descriptor).st_size
    while (head := os.pread(descriptor, HEAD_BYTES, offset)).strip(b"\0"):
        try:
            entry = _entry(offset, head, size)
        except Torn:
            return Scan(tuple(entries), offset, _written(descriptor, offset, size), damaged)
        offset += entry.head.size
        if _is_whole(descriptor, entry):
            entries.append(entry)
        elif _starts_record(os.pread(descriptor, HEAD_BYTES, offset)):
            damaged += 1
        else:
            return Scan(tuple(entries), entry.offset, _written(descriptor, entry.offset, size), damaged)
    return Scan(tuple(entries), offset, 0, damaged)


def _entry(offset: int, head: bytes, size: int) -> Entry:
    entry = Entry(offset, read_head(head))
    if offset + entry.head.size > size:
        raise Torn
    return entry


def _is_whole(descriptor: int, entry: Entry) -> bool:
    if entry.head.state is State.DONE:
        return True
    try:
        check(entry.head, read_rest(descriptor, entry))
    except Torn:
        return False
    return True


def _starts_record(head: bytes) -> bool:
    try:
        read_head(head)
    except Torn:
        return False
    return True


def read_rest(descriptor: int, entry: Entry) -> bytes:
    """Facts and body of a record."""
    return _read(descriptor, entry.offset + HEAD_BYTES, entry.head.size - HEAD_BYTES)


def _read(descriptor: int, offset: int, size: int) -> bytes:
    """So many bytes; fewer only at the end of the file (one read takes 2 GiB at most)."""
    found = bytearray()
    while len(found) < size:
        piece = os.pread(descriptor, size - len(found), offset + len(found))
        if not piece:
            break
        found += piece
    return bytes(found)


def _written(descriptor: int, offset: int, size: int) -> int:
    """Bytes from `offset` to the last one that is not zero."""
    last = offset
    for start in range(offset, size, _CHUNK):
        piece = os.pread(descriptor, _CHUNK, start).rstrip(b"\0")
        last = start + len(piece) if piece else last
    return last - offset


@dataclass(eq=False, slots=True)
class SpoolFile:
    """A spool file that this process holds until `close`."""

    path: Path
    descriptor: int
    reserve: int
    tail: int = 0
    torn_bytes: int = 0
    waiting: list[Entry] = field(default_factory=list)  # oldest first
    kept: int = 0  # records that no job matches, or that are damaged
    closed: bool = False

    def append(self, answer: SpooledAnswer) -> None:
        """Write an answer behind the others; it is on the disk when this returns. OSError: it is not, and as before."""
        record = write_record(answer)
        try:
            _write(self.descriptor, record, self.tail)
            os.fsync(self.descriptor)
        except OSError:
            self._wipe(self.tail, len(record))
            raise
        self.waiting.append(Entry(self.tail, read_head(record)))
        self.tail += len(record)

    def load(self, entry: Entry) -> SpooledAnswer:
        """The answer of a record."""
        return read_record(entry.head, read_rest(self.descriptor, entry))

    def mark(self, entry: Entry, state: State) -> None:
        """Note what became of a record. It may be forgotten at a power cut: bringing it in again changes nothing."""
        os.pwrite(self.descriptor, state.value, entry.offset + STATE_AT)
        self.waiting.remove(entry)
        self.kept += state is State.KEPT
        if not self.waiting and not self.kept and not self.torn_bytes:
            self._rewind()

    def let_go(self) -> None:
        """Leave the file as it is to whoever takes it next."""
        self.closed = True
        os.close(self.descriptor)

    def close(self) -> None:
        """Let the file go. An empty one is removed; one that only a person can read further gets another name."""
        if self.closed:
            return
        if not self.waiting:
            if self.kept or self.torn_bytes:
                self._set_aside()
            else:
                self.path.unlink(missing_ok=True)
        self.let_go()

    def rename(self, path: Path) -> None:
        """Go on under another name in the same folder."""
        self.path.rename(path)
        self.path = path

    def _set_aside(self) -> None:
        os.ftruncate(self.descriptor, self.tail + self.torn_bytes)
        os.fsync(self.descriptor)
        self.rename(self.path.with_name(self.path.name + KEPT_SUFFIX))

    def _rewind(self) -> None:
        """Begin anew from the front of the reserve, from the back on, so that a crash leaves only whole records."""
        used, self.tail = self.tail, 0
        self._wipe(0, used)

    def _wipe(self, offset: int, size: int) -> None:
        """Zeros again in what was written; what grew beyond the reserve is given back."""
        if os.fstat(self.descriptor).st_size > max(self.reserve, offset):
            os.ftruncate(self.descriptor, max(self.reserve, offset))
        end = min(offset + size, os.fstat(self.descriptor).st_size)
        for start in reversed(range(offset, end, _CHUNK)):
            _write(self.descriptor, bytes(min(_CHUNK, end - start)), start)


def create(path: Path, reserve: int) -> SpoolFile:
    """A new file whose reserve is allocated. Raises OSError where it cannot be; nothing is left then."""
    descriptor = create_locked(path)
    try:
        allocate(descriptor, reserve)
        os.fsync(descriptor)
        sync_folder(path.parent)
    except OSError:
        path.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return SpoolFile(path, descriptor, reserve)


def take(path: Path, reserve: int = 0) -> SpoolFile | None:
    """The file of a worker that no longer holds it, read to its end; None while somebody holds it, or it is gone."""
    descriptor = take_free(path)
    if descriptor is None:
        return None
    found = scan(descriptor)
    waiting = [entry for entry in found.entries if entry.head.state is State.WAITING]
    kept = sum(entry.head.state is State.KEPT for entry in found.entries) + found.damaged
    return SpoolFile(path, descriptor, reserve, found.tail, found.torn_bytes, waiting, kept)


def allocate(descriptor: int, size: int) -> None:
    """Make sure of so many bytes on the disk."""
    if size == 0:
        return
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    for start in range(os.fstat(descriptor).st_size, size, _CHUNK):  # macOS has no such call
        _write(descriptor, bytes(min(_CHUNK, size - start)), start)


def sync_folder(folder: Path) -> None:
    """A new name in a folder outlives a power cut only when the folder is synced too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view, offset = view[written:], offset + written
