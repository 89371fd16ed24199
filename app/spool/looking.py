"""What waits in the spool of a store: the one function behind `status`, exports and whoever else shows it."""

import fcntl
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.spool.file import KEPT_SUFFIX, Entry, scan
from app.spool.folders import files, folders
from app.spool.record import HEAD_BYTES, State, dataset_of
from app.store.place import Place


@dataclass(frozen=True, slots=True)
class FileState:
    """One spool file at the moment of looking."""

    path: Path
    size: int  # with its reserve
    waiting: int
    bytes: int  # of the records that wait
    oldest_ms: int | None  # when the oldest of them was received
    held: bool  # by a live worker
    kept: int  # records that match no job of the store, or are damaged
    torn_bytes: int  # behind the last whole record: a write that was cut off
    datasets: Mapping[str, int]  # waiting answers of each


@dataclass(frozen=True, slots=True)
class SpoolState:
    """All spool files of a store."""

    files: tuple[FileState, ...] = ()
    unseen: tuple[Path, ...] = ()  # folders that are not there now: a disk that is not mounted

    @property
    def waiting(self) -> int:
        return sum(file.waiting for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def oldest_ms(self) -> int | None:
        return min((file.oldest_ms for file in self.files if file.oldest_ms is not None), default=None)

    @property
    def kept(self) -> int:
        return sum(file.kept for file in self.files)

    @property
    def torn_bytes(self) -> int:
        return sum(file.torn_bytes for file in self.files)

    @property
    def remarkable(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.waiting or self.kept or self.torn_bytes or self.unseen)

    def of(self, dataset: str) -> int:
        """Answers of one dataset that wait."""
        return sum(file.datasets.get(dataset, 0) for file in self.files)


def waiting_words(count: int) -> str:
    """`1 answer waits in the spool: ...`"""
    return f"{answers_wait(count)} in the spool, not yet in the store: start a worker to bring them in."


def answers_wait(count: int) -> str:
    """`1 answer waits`"""
    return "1 answer waits" if count == 1 else f"{count:,} answers wait"


def look(place: Place) -> SpoolState:
    """Look at every spool file of a store. Nothing is changed, and nobody is kept waiting."""
    known = folders(place)
    seen = (_look_at(path) for folder in known for path in files(folder))
    return SpoolState(
        tuple(state for state in seen if state is not None), tuple(one for one in known if not one.is_dir())
    )


def _look_at(path: Path) -> FileState | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # brought in and removed meanwhile
        return None
    try:
        return _state(path, descriptor)
    finally:
        os.close(descriptor)


def _state(path: Path, descriptor: int) -> FileState:
    held = not path.name.endswith(KEPT_SUFFIX) and _is_held(descriptor)
    found = scan(descriptor)
    waiting = [entry for entry in found.entries if entry.head.state is State.WAITING]
    return FileState(
        path=path,
        size=os.fstat(descriptor).st_size,
        waiting=len(waiting),
        bytes=sum(entry.head.size for entry in waiting),
        oldest_ms=min((entry.head.received_ms for entry in waiting), default=None),
        held=held,
        kept=sum(entry.head.state is State.KEPT for entry in found.entries) + found.damaged,
        torn_bytes=0 if held else found.torn_bytes,  # of a live worker it is one that is being written
        datasets=_datasets(descriptor, waiting),
    )


def _is_held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _datasets(descriptor: int, waiting: Sequence[Entry]) -> Mapping[str, int]:
    facts = (os.pread(descriptor, entry.head.facts_bytes, entry.offset + HEAD_BYTES) for entry in waiting)
    return Counter(dataset_of(one) for one in facts)
