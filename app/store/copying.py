"""A consistent copy of a store beside its writers, by SQLite itself.

`VACUUM INTO` reads one snapshot: writers go on and are blocked by nothing, and the WAL grows meanwhile because nothing
in it may be overwritten. SQLite's incremental backup begins anew whenever another process commits, so
that beside a writer it never ends. The copy is a file of its own; nobody else opens it before it has its final name.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from app.model.errors import Refused, ResourceExhausted
from app.store.apart import apart
from app.store.locked_file import still_there
from app.store.place import Place

LOOK_EVERY_S = 0.2
CHUNK = 2**20
LEAST_WAL_GROWTH = 64 * 2**20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file that is being made; `finish` gives it its name."""

    path: Path
    target: Path
    descriptor: int

    def sha256(self) -> str:
        """Of its bytes, read through the descriptor that is open anyway."""
        digest, offset = hashlib.sha256(), 0
        while chunk := os.pread(self.descriptor, CHUNK, offset):
            digest.update(chunk)
            offset += len(chunk)
        return digest.hexdigest()

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def finish(self, target: Path | None = None) -> None:
        """Let it appear whole under its name, or under another one, and survive a power cut there."""
        os.fsync(self.descriptor)
        self.path.rename(target or self.target)
        sync_folder(self.target.parent)


@contextmanager
def part_file(target: Path) -> Iterator[PartFile]:
    """`TARGET.part`, held by a lock and removed unless it is finished; what a killed process left is written over."""
    path = target.with_name(target.name + ".part")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"Another process is writing {path}. Wait for it, or name another target.") from None
        os.ftruncate(descriptor, 0)
        part = PartFile(path, target, descriptor)
        try:
            yield part
        finally:
            if still_there(path, descriptor):
                path.unlink()
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_room(source: Place, target: Path, *, rewriting: bool = False) -> None:
    """Raise ResourceExhausted where the copy, or the WAL that grows meanwhile, would fill a disk.

    `rewriting`: every table may be written anew after the copy, which lies in the WAL first and then in the file.
    """
    copy, growth = source.size(), max(LEAST_WAL_GROWTH, 2 * source.size() if rewriting else source.size() // 10)
    same_disk = target.parent.stat().st_dev == source.path.parent.stat().st_dev
    _require(target.parent, copy + growth if same_disk else copy, "the copy")
    if not same_disk:
        _require(source.path.parent, growth, "the WAL that grows meanwhile")


def room_for(target: Path, size: int) -> None:
    """Raise ResourceExhausted where a store of that size, from somewhere else, would fill the disk."""
    _require(target.parent, size + LEAST_WAL_GROWTH, "the copy")


def _require(folder: Path, wanted: int, what: str) -> None:
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise ResourceExhausted(
            f"{folder} has {free / 2**20:,.0f} MiB free, and {what} may need {wanted / 2**20:,.0f} MiB. "
            "Free some space or name another folder."
        )


async def copy_store(source: Place, part: PartFile, progress: Progress) -> None:
    """Copy all that is committed now into `part`. Cancelled, it stops within a moment."""
    expected = source.size()

    async def watch() -> None:
        while True:
            progress(min(part.size(), expected), expected)
            await anyio.sleep(LOOK_EVERY_S)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await apart(source, lambda connection: connection.execute("VACUUM INTO ?", (str(part.path),)).close())
        tasks.cancel_scope.cancel()
