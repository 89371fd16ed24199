"""Where spool files lie: beside the store, or in another folder to which a link stands beside the store.

The link is what lets every worker, `status` and an export find answers that a worker put elsewhere.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from app.model.errors import ResourceExhausted
from app.spool.file import KEPT_SUFFIX, SpoolFile, allocate, create, sync_folder, take
from app.store.locked_file import named_files
from app.store.place import Place

_LINK = "elsewhere-"
_MOST_NAMES = 6  # in one file name, which may have 255 bytes


def prepare(place: Place, store_id: str, elsewhere: Path | None) -> Path:
    """The folder in which a worker's file is to lie; made if need be. Raises OSError."""
    place.spool.mkdir(mode=0o700, exist_ok=True)
    if elsewhere is None:
        return place.spool
    folder = elsewhere.expanduser().resolve() / f"{place.path.name}-{store_id}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    link = place.spool / (_LINK + hashlib.sha256(bytes(folder)).hexdigest()[:16])
    if not link.is_symlink():
        link.symlink_to(folder, target_is_directory=True)
        sync_folder(place.spool)
    return folder


def folders(place: Place) -> list[Path]:
    """Every folder with spool files of this store; one that cannot be seen now (not mounted) is among them."""
    if not place.spool.is_dir():
        return []
    return [place.spool, *sorted(link.readlink() for link in place.spool.glob(_LINK + "*") if link.is_symlink())]


def files(folder: Path) -> Iterator[Path]:
    """The spool files in a folder, those set aside too."""
    if folder.is_dir():
        yield from sorted(path for path in named_files(folder) if not path.name.startswith(_LINK) and path.is_file())


def replayable(place: Place) -> Iterator[Path]:
    """The files whose answers may still be brought in."""
    for folder in folders(place):
        yield from (path for path in files(folder) if not path.name.endswith(KEPT_SUFFIX))


def owners(path: Path) -> list[str]:
    """The workers whose answers a file may hold; the last one has it, or had it last."""
    return path.name.split(".")


def open_own(place: Place, store_id: str, elsewhere: Path | None, uuid: str, reserve: int) -> SpoolFile:
    """The file of the worker `uuid`: one that a dead worker left in the same folder, with what it holds, or a new one.

    Taking over keeps crashes from filling the disk with reserves. While a file holds the answers of dead workers, their
    names stay part of its own: who finds them dead waits for those. Raises ResourceExhausted where there is no room.
    """
    try:
        folder = prepare(place, store_id, elsewhere)
        left = _left_by_dead(folder, reserve)
        if left is None:
            return create(folder / uuid, reserve)
        before = owners(left.path)[-_MOST_NAMES + 1 :] if left.waiting else []
        left.rename(folder / ".".join([*before, uuid]))
        sync_folder(folder)
    except OSError as error:
        where = elsewhere or place.spool
        raise ResourceExhausted(
            f"No room for the spool in {where}, {reserve:,} bytes that keep answers when the store's disk is full "
            f"({error.strerror}). Free some space, name another disk with --spool-dir, or a smaller --spool-reserve."
        ) from error
    return left


def _left_by_dead(folder: Path, reserve: int) -> SpoolFile | None:
    for path in files(folder):
        taken = None if path.name.endswith(KEPT_SUFFIX) else take(path, reserve)
        if taken is None:
            continue
        if not (taken.torn_bytes or taken.kept):
            try:
                allocate(taken.descriptor, reserve)
            except OSError:
                taken.close()
                raise
            return taken
        taken.let_go()
    return None
