"""The files of an export: written beside their place, made durable, read back, and only then given their names."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from app.export.disk import CHUNK, disk_errors, sync_folder, write_durably
from app.export.hashing import Piece, Written
from app.export.naming import MOST_SHARDS, finals, manifest_of, part_of, shard_part, shard_parts, shards
from app.export.pieces import Shards, Single, first_bytes
from app.export.reading_back import read_back
from app.export.request import ExportRequest, Format, Packing
from app.export.sink import LineSink
from app.export.unfinished import Place, Unfinished, notes_of
from app.model.errors import (
    IntegrityFailure,
    NotFound,
    Refused,
    ResourceExhausted,
    ThinkledgerError,
    Unavailable,
    UsageError,
)


def refuse_target(request: ExportRequest) -> None:
    """Refuse a place where something lies already, or where nothing can lie."""
    if request.target is None:
        return
    if not request.target.parent.is_dir():
        raise NotFound(f"{request.target.parent} is no folder, so nothing can be exported to it. Create it first.")
    if request.target.is_dir():
        raise Refused(f"{request.target} is a folder. Name a file with --output.")
    sharded = request.shard_size is not None
    there = list(shards(request.target)) if sharded else [request.target]
    for path in (*there, manifest_of(request.target) if request.manifest else None):
        if path is not None and path.exists() and not request.overwrite:
            raise Refused(f"{path} exists. --overwrite replaces it, --output names another file.")
    foreign = sorted(set(there) - listed(request.target)) if sharded else []
    if foreign:
        raise Refused(
            f"{foreign[0]} exists, and no manifest of {request.target.name} lists it: who reads all shards would read "
            "it too. Remove it, or name another file with --output."
        )


def listed(target: Path) -> set[Path]:
    """The files of the export that lies there, as its manifest lists them: what a newer one replaces, and no others."""
    try:
        said = json.loads(manifest_of(target).read_bytes())
        names = [said["file"]] if said["shards"] is None else [one["file"] for one in said["shards"]]
        return {target.with_name(name) for name in names if name == Path(name).name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


class Part:
    """`PATH.part` while it is written, with its notes beside it. Its lock keeps a second export of the file out.

    Of shards it is empty: they lie beside it, each under a name of its own, and it is their lock.
    """

    def __init__(self, request: ExportRequest, target: Path) -> None:
        self._request = request
        self._target = target
        self.path = part_of(target)
        self._file, self._found_bytes = _locked(self.path)
        self._begun = self._noted = self._placed = False
        self._closing = ExitStack()
        self.sink: Single | Shards  # made where it is begun: a compressor writes at once, and again when it goes away

    def begin(self) -> None:
        """Start with the first line: what an export left that was cut off goes."""
        self._begun, self._found_bytes = True, 0
        self._file.seek(0)
        self._file.truncate(0)
        self._remove_shard_parts()
        self._take(self._new_sink())

    def _take(self, sink: Single | Shards) -> None:
        self.sink = sink
        self._closing.callback(sink.close)

    def _new_sink(self) -> Single | Shards:
        size, container = self._request.shard_size, self._request.container
        return Single(self._file, container) if size is None else Shards(self._shard, size, container)

    @property
    def _shard(self) -> partial[Path]:
        return partial(shard_part, self._target)

    def go_on(self, unfinished: Unfinished) -> None:
        """Start after the lines that lie there already, or with the first where they are not what the notes say.

        Of a compressed file or a table they are made anew: they cannot go on where another process stopped.
        """
        self._begun = True
        plain = self._request.packing is Packing.PLAIN and self._request.format is Format.JSONL
        if not plain or not self._goes_on(unfinished.place, unfinished.walked.rows):
            self.begin()
            unfinished.from_the_start()

    def _goes_on(self, place: Place, rows: int) -> bool:
        """Whether the lines up to the place lie there; then the sink stands after them."""
        sink = self._shards_so_far(place, rows) if self._request.shard_size else self._file_so_far(place, rows)
        if sink is None:
            return False
        if sink.so_far != (place.bytes, place.sha256):
            sink.close()
            return False
        self._take(sink)
        return True

    def _file_so_far(self, place: Place, rows: int) -> Single | None:
        if place.bytes > self._found_bytes:
            return None
        sink = LineSink(self._file)
        sink.go_on_after(first_bytes(self.path, place.bytes), rows)
        self._file.seek(place.bytes)
        self._file.truncate(place.bytes)
        return Single(self._file, self._request.container, sink)

    def _shards_so_far(self, place: Place, rows: int) -> Shards | None:
        assert self._request.shard_size is not None
        needed = -(-rows // self._request.shard_size)
        if not all(self._shard(number).is_file() for number in range(needed)):
            return None
        sink = Shards(self._shard, self._request.shard_size, self._request.container)
        sink.go_on_after(rows, place.bytes)
        return sink

    def note(self, unfinished: Unfinished) -> None:
        """Make the lines so far durable, then write down how far they go."""
        self.sink.make_durable()
        write_durably(notes_of(self.path), unfinished.to_json())
        self._noted = True

    def seal(self) -> Written:
        """Make it durable, and check that what lies there is what was written."""
        written = self.sink.finish()
        if len(written.pieces) > MOST_SHARDS:
            raise UsageError(f"{len(written.pieces):,} shards are more than their names can count. Take larger ones.")
        for path, piece in zip(self._parts(written), written.pieces, strict=True):
            if (found := read_back(path, self._request.container)) != piece:
                raise IntegrityFailure(
                    f"{path} does not hold what was written to it: {found.rows:,} rows and {found.bytes:,} bytes of "
                    f"{piece.rows:,} and {piece.bytes:,}. Check the disk; nothing was put in place."
                )
        return written

    def _parts(self, written: Written) -> list[Path]:
        """Where the pieces lie until they have their names."""
        if self._request.shard_size is None:
            return [self.path]
        return [self._shard(number) for number in range(len(written.pieces))]

    def _finals(self, written: Written) -> list[Path]:
        return finals(self._target, len(written.pieces), sharded=self._request.shard_size is not None)

    def put_in_place(self, written: Written) -> None:
        """Give the pieces their names. An older manifest goes first: it would speak of other files."""
        refuse_target(self._request)
        self._name(written, self._finals(written))

    def end_placing(self, written: Written) -> None:
        """Give their names to the pieces that have none: killed between two renames."""
        self._name(written, [path for path, has in self._placing(written) if not has])

    def _name(self, written: Written, waiting: list[Path]) -> None:
        places = self._finals(written)
        for old in listed(self._target) - set(places):
            old.unlink(missing_ok=True)  # of another count: who reads all of them would read two exports
        if self._request.manifest_path is not None:
            self._request.manifest_path.unlink(missing_ok=True)
        for part, place in zip(self._parts(written), places, strict=True):
            if place in waiting:
                part.replace(place)
        self._placed = True
        sync_folder(self._target.parent)

    def is_placed(self, unfinished: Unfinished) -> bool:
        """Whether names were given already and only the end is missing: killed between two renames."""
        if unfinished.sealed is None or self._found_bytes:
            return False
        placing = self._placing(unfinished.sealed)
        waiting = zip(self._parts(unfinished.sealed), unfinished.sealed.pieces, placing, strict=True)
        return any(has for _, has in placing) and all(
            has or self._holds(part, piece) for part, piece, (_, has) in waiting
        )

    def _placing(self, written: Written) -> list[tuple[Path, bool]]:
        """Each name, and whether the piece lies under it already."""
        pairs = zip(self._finals(written), written.pieces, strict=True)
        return [(path, self._holds(path, piece)) for path, piece in pairs]

    def _holds(self, path: Path, piece: Piece) -> bool:
        return path.is_file() and read_back(path, self._request.container) == piece

    def forget(self) -> None:
        """The export is whole: nothing is left to go on with."""
        notes_of(self.path).unlink(missing_ok=True)

    def close(self, error: BaseException | None = None) -> None:
        """Close it; what nobody can go on with is removed while its lock is still held."""
        if self._file.closed:
            return
        try:
            self._closing.close()
            if self._placed:
                self._remove_lock()
            elif not self._is_worth_keeping(error):
                self._remove_shard_parts()
                self.path.unlink(missing_ok=True)
                if self._begun:
                    self.forget()
        finally:
            self._file.close()

    def _remove_lock(self) -> None:
        """Of shards the part is still there, empty; of one file it has the file's name, or is another export's."""
        if _has_name(self.path, os.fstat(self._file.fileno())):
            self.path.unlink()

    def _remove_shard_parts(self) -> None:
        for path in list(shard_parts(self._target)):
            path.unlink()

    def _is_worth_keeping(self, error: BaseException | None) -> bool:
        """Of an export before us that was cut off, or of ours if the same could end well another time."""
        if not self._begun:
            return self._found_bytes > 0 or any(shard_parts(self._target))
        final = isinstance(error, ThinkledgerError) and not isinstance(error, ResourceExhausted | Unavailable)
        return self._noted and error is not None and not final


def _locked(path: Path) -> tuple[BinaryIO, int]:
    """The file of that name, locked, and its size. A lock on a file that has another name by now is none.

    Between our open and our lock the export that held it may have finished, and the file is the finished one.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Refused(f"{path} is being written by another export. Wait for it, or name another file.") from error
        held = os.fstat(descriptor)
        if _has_name(path, held):
            return os.fdopen(descriptor, "wb", buffering=CHUNK), held.st_size
        os.close(descriptor)


def _has_name(path: Path, held: os.stat_result) -> bool:
    try:
        named = path.lstat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


@contextmanager
def part(request: ExportRequest, target: Path) -> Iterator[Part]:
    """The part file. Afterwards it has its name, or waits to be gone on with, or is gone."""
    with disk_errors(target):
        made = Part(request, target)
        try:
            yield made
        except BaseException as error:
            made.close(error)
            raise
        made.close()
