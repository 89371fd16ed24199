"""Where a store lies, and whether it may lie there. Everything here happens before the first connection."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from app.model.errors import IntegrityFailure, NotFound, Refused, ResourceExhausted, UsageError
from app.store.address import Address, address_of, is_address

APPLICATION_ID = 0x54686C67  # "Thlg", at byte 68 of the file (sqlite.org/fileformat.html)
_HEADER = b"SQLite format 3\x00"

# flock and the shared memory of WAL mode mean nothing across hosts, so these are refused without an override.
NETWORK_FILE_SYSTEMS = frozenset([
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
    "beegfs_nodev", "pvfs2", "orangefs", "ocfs2", "gfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs",
    "fuse.gcsfuse", "fuse.juicefs", "fuse.rclone", "davfs", "ncpfs", "panfs",
])  # fmt: skip

_ESCAPED = re.compile(rb"\\([0-7]{3})")  # how mountinfo writes a blank, a tab, a line end and a backslash


_open_here: dict[tuple[int, int], int] = {}  # (device, inode) -> stores open in this process


@dataclass(frozen=True, slots=True)
class Place:
    """The file of a store and what lies beside it."""

    path: Path  # resolved: two names of one file are one place; of a server what its files here are named after
    server: Address | None = None  # the database, where the store is no file

    @property
    def shown(self) -> str:
        """The store's name for a person: without a password."""
        return str(self.path) if self.server is None else self.server.shown

    @property
    def workers(self) -> Path:
        """The folder of the workers' lock files."""
        return self.path.with_name(self.path.name + ".workers")

    @property
    def wal(self) -> Path:
        """SQLite's log beside the file: committed rows that are not in the file yet."""
        return self.path.with_name(self.path.name + "-wal")

    @property
    def shared_memory(self) -> Path:
        """The index of the WAL; SQLite makes it anew."""
        return self.path.with_name(self.path.name + "-shm")

    @property
    def backups(self) -> Path:
        """The folder of backups that were given no other place."""
        return self.path.with_name(self.path.name + ".backups")

    @property
    def spool(self) -> Path:
        """The folder of answers that could not be committed yet."""
        return self.path.with_name(self.path.name + ".spool")

    def size(self) -> int:
        """Bytes of the file and its WAL, from `stat`: opening either would drop SQLite's locks."""
        return _size(self.path) + self.wal_size()

    def wal_size(self) -> int:
        """Bytes of the WAL alone."""
        return _size(self.wal)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def locate(db: str) -> Place:
    """The place that `--db` names: a path, a URL `sqlite:///PATH`, or a database of a PostgreSQL server."""
    if is_address(db):
        address = address_of(db)
        return Place(address.beside, address)
    if db.startswith("sqlite:///"):
        db = db.removeprefix("sqlite:///")
    elif "://" in db:
        raise UsageError(
            f"--db {db.split('://')[0]}://...: give a path, sqlite:///PATH, or postgresql://USER@HOST:PORT/DATABASE."
        )
    if not db:
        raise UsageError("--db is empty. Give the path of a store, for example ./thinkledger.db.")
    return Place(Path(db).expanduser().resolve())


def need_file(place: Place, command: str, instead: str) -> None:
    """Refuse a command that works on a store's file where the store is none, saying what to use instead."""
    if place.server is not None:
        raise Refused(f"`thinkledger {command}` works on a SQLite file, not on PostgreSQL. {instead}")


def check(place: Place, *, create: bool) -> None:
    """Refuse a place where a store must not or cannot lie; nothing is created or changed by it."""
    folder = place.path.parent
    if not folder.is_dir():
        raise NotFound(f"{folder} is no folder, so no store can lie there. Create it first.")
    if not os.access(folder, os.X_OK):
        raise ResourceExhausted(f"{folder} cannot be entered by this user. Choose another with --db.")
    kind = file_system_of(place.path if place.path.exists() else folder, Path("/proc/self/mountinfo"))
    if kind in NETWORK_FILE_SYSTEMS:
        raise Refused(
            f"{place.path} lies on a network file system ({kind}), where SQLite's locks do not hold. "
            "Put the store on a local disk."
        )
    if not place.path.exists():
        _check_missing(place, create=create)
        return
    _check_present(place, create=create)


def _check_missing(place: Place, *, create: bool) -> None:
    if not create:
        raise NotFound(
            f"There is no store at {place.path}. `thinkledger import NAME FILE` makes one; --db names another."
        )
    if not os.access(place.path.parent, os.W_OK):
        raise ResourceExhausted(
            f"{place.path.parent} cannot be written, so no store can be made there. Choose another with --db."
        )


def _check_present(place: Place, *, create: bool) -> None:
    facts = place.path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise UsageError(f"{place.path} is no regular file, so it is no store. --db names another.")
    if (facts.st_dev, facts.st_ino) in _open_here:
        return  # reading it by another descriptor would drop the locks of the connections that are open
    if not os.access(place.path, os.R_OK):
        raise ResourceExhausted(f"{place.path} cannot be read by this user.")
    if not (os.access(place.path, os.W_OK) and os.access(place.path.parent, os.W_OK)):
        raise ResourceExhausted(
            f"{place.path} or its folder cannot be written by this user. SQLite needs both, even to read a live store."
        )
    _check_header(place, create=create)
    _check_wal(place)


def _check_wal(place: Place) -> None:
    """Refuse a store whose WAL was removed. SQLite makes the WAL before its index and removes it after that."""
    index, wal = place.shared_memory.exists, place.wal.exists
    if index() and not wal() and index() and not wal():  # twice: another process may be closing or opening it just now
        raise IntegrityFailure(
            f"{place.wal} was removed: the rows that were committed last were in it. Put it back or restore a backup. "
            f"To go on without those rows, remove {place.shared_memory.name} too."
        )


def _check_header(place: Place, *, create: bool) -> None:
    with place.path.open("rb") as file:
        header = file.read(100)
    if not header:  # made by a start that went no further, or by somebody else: it becomes a store where one is wanted
        _check_missing(place, create=create)
        return
    if not header.startswith(_HEADER):
        raise IntegrityFailure(
            f"{place.path} is no SQLite file, and nothing in it was touched. --db names another file."
        )
    if len(header) < 100:
        raise IntegrityFailure(f"{place.path} is cut off within its first 100 bytes. Restore it from a backup.")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise UsageError(
            f"{place.path} is a database of another program, and nothing in it was touched. --db names another file."
        )
    _check_length(place, header)


def _check_length(place: Place, header: bytes) -> None:
    """Refuse a file that is shorter than its own header says; with a WAL beside it, the rest may lie there."""
    if place.wal.exists() and place.wal.stat().st_size:
        return
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    whole, found = (65536 if page == 1 else page) * pages, place.path.stat().st_size
    if header[24:28] == header[92:96] and found < whole:  # the count is only valid where these two agree
        raise IntegrityFailure(
            f"{place.path} is cut off: {found:,} of {whole:,} bytes are there. Restore it from a backup."
        )


def file_system_of(path: Path, mountinfo: Path) -> str | None:
    """The type of the file system that holds `path`, or None where the system does not tell (proc(5), mountinfo)."""
    if not mountinfo.exists():
        return None
    best, kind = -1, None
    for line in mountinfo.read_bytes().rstrip(b"\n").split(b"\n"):
        fields, _, rest = line.partition(b" - ")
        mount = Path(os.fsdecode(_ESCAPED.sub(_unescaped, fields.split(b" ")[4])))
        if path.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), os.fsdecode(rest.split(b" ")[0])
    return kind


def _unescaped(code: re.Match[bytes]) -> bytes:
    return bytes([int(code[1], 8)])


def opened(place: Place) -> tuple[int, int]:
    """Note that this process holds connections to the place, see `_check_present`; the file that they are on."""
    facts = place.path.stat()
    key = (facts.st_dev, facts.st_ino)
    _open_here[key] = _open_here.get(key, 0) + 1
    return key


def closed(place: Place) -> None:
    """Note that connections were closed. A file that was removed meanwhile keeps its note: harmless."""
    if not place.path.exists():
        return
    facts = place.path.stat()
    key = (facts.st_dev, facts.st_ino)
    left = _open_here.get(key, 0) - 1
    if left > 0:
        _open_here[key] = left
    else:
        _open_here.pop(key, None)
