"""The files that this process has open, told from others that come to lie under their names.

A connection goes on writing to a file that was moved away or unlinked, and nobody would ever see those rows again.
Everything here is `stat`: opening the files by another way would drop SQLite's locks.
"""

from pathlib import Path

from app.model.errors import IntegrityFailure, StoreReplaced
from app.store.place import Place

Identity = tuple[int, int]  # device and inode


class Watch:
    """Remembers what was opened; `check` raises when that is no longer what the names mean."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._file = _identity(place.path)
        self._wal: Identity | None = None
        self._bytes = 0

    def check(self) -> None:
        """Raise StoreReplaced for another or no file, IntegrityFailure for one that was cut. Three calls of stat."""
        path = self._place.path
        if _identity(path) != self._file:
            aside = self._set_wal_aside()
            raise StoreReplaced(f"{path} was replaced or removed while this process had it open.{aside}")
        size = path.stat().st_size
        if size < self._bytes:
            raise IntegrityFailure(
                f"{path} was cut off from {self._bytes:,} to {size:,} bytes while this process had it open. "
                "Stop all workers and restore a backup."
            )
        self._bytes = size
        self._check_wal()

    def _set_wal_aside(self) -> str:
        """Rename our WAL: whoever opens the file that lies there now would read our rows into it, and damage it."""
        wal = self._place.wal
        if _identity(self._place.path) is None:
            return " Put it back beside its WAL and start again: nothing that was committed is lost."
        if self._wal is None or _identity(wal) != self._wal:
            return ""
        kept = wal.with_name(f"{wal.name}.of-inode-{self._wal[1]}")
        wal.rename(kept)
        self._place.shared_memory.unlink(missing_ok=True)
        return (
            f" Rows that were committed and are not in the old file yet are in {kept.name}: put that file back as "
            f"{self._place.path.name} and this one as {wal.name} before anybody opens it, and nothing is lost."
        )

    def _check_wal(self) -> None:
        # As long as any connection is open, nobody who keeps the rules removes the WAL.
        found = _identity(self._place.wal)
        if self._wal is not None and found != self._wal:
            raise StoreReplaced(f"{self._place.wal} was replaced or removed while this process had it open.")
        self._wal = found


class NoWatch(Watch):
    """A store on a server has no files here."""

    def __init__(self, _place: Place) -> None:
        """Remember nothing."""

    def check(self) -> None:
        """The server looks after its own."""


def _identity(path: Path) -> Identity | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino
