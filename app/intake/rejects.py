"""Rows to be told of one by one, a JSON object a line, in files beside the imported one: those not taken, and results
that were taken without their reasoning."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from itertools import count, takewhile
from pathlib import Path
from types import TracebackType
from typing import Any

from app.intake.lines import STDIN
from app.intake.refusal import expected
from app.intake.rows import Reject
from app.model.errors import ResourceExhausted

REJECTS = "rejects"
UNCAPTURED = "uncaptured"
UNANSWERED = "unanswered"
_CHUNK = 2**18


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, and the name of a file in it up to its number."""

    folder: Path
    stem: str

    @property
    def first(self) -> Path:
        return self.folder / f"{self.stem}.jsonl"

    def names(self) -> Iterator[Path]:
        """`x.jsonl`, `x.2.jsonl`, `x.3.jsonl` and so on."""
        yield self.first
        for number in count(2):
            yield self.folder / f"{self.stem}.{number}.jsonl"


class SideFile:
    """Writes the file with its first line. What an earlier import wrote down is never lost.

    It is left alone, and ours gets the next number, `.rejects.2.jsonl`. Only earlier files that ours begins with, as
    those of the same import run before or cut off, give way to ours at the end.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._taken: Place | None = None
        self._file: FileIO | None = None
        self.path: Path | None = None

    def __enter__(self) -> "SideFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None and not self._file.closed:
            self._file.close()

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines; they are in the file when this returns."""
        if not lines:
            return
        if self._file is None:
            self._file = self._create()
        try:
            left = memoryview(b"".join(lines))
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise ResourceExhausted(
                f"{self.path} could not be written: {error.strerror}. Free some space, then run the import again."
            ) from error

    def end(self) -> None:
        """The last line is written: take the place of earlier files whose lines all stand in ours."""
        if self._taken is None or self.path is None:
            return
        ours = self.path
        earlier = takewhile(lambda path: path != ours, self._taken.names())
        contained = [path for path in earlier if _begins_with(ours, path)]
        for path in contained[1:]:
            path.unlink()
        if contained:
            self.path = ours.replace(contained[0])

    def _create(self) -> FileIO:
        """The file at the first place that can be written; never through a link that somebody left there."""
        for place in self._places[:-1]:
            try:
                return self._create_at(place)
            except OSError:
                continue
        try:
            return self._create_at(self._places[-1])
        except OSError as error:
            raise ResourceExhausted(
                f"{self._places[-1].first} could not be made: {error.strerror}. Nowhere else is left for it."
            ) from error

    def _create_at(self, place: Place) -> FileIO:
        for path in place.names():
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # until it is closed: nobody else takes it for an old one
            self._taken, self.path = place, path
            return FileIO(descriptor, "w")
        raise AssertionError("numbers do not end")


def _begins_with(ours: Path, earlier: Path) -> bool:
    """Whether the lines of an earlier file are the first ones of ours; of a link, a folder or a busy one never."""
    if earlier.is_symlink() or not earlier.is_file() or earlier.stat().st_size > ours.stat().st_size:
        return False
    with earlier.open("rb") as one, ours.open("rb") as other:
        try:
            fcntl.flock(one, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        while data := one.read(_CHUNK):
            if other.read(len(data)) != data:
                return False
    return True


def places(path: str, dataset: str, store_folder: Path, kind: str = REJECTS) -> list[Place]:
    """Where such a file may go: beside the imported one, else into the store's folder."""
    if path == STDIN:
        return [Place(store_folder, f"{dataset}.stdin.{kind}")]
    file = Path(path)
    inside = Place(store_folder, f"{file.name}.{kind}")
    return [Place(file.parent, f"{file.name}.{kind}"), inside] if file.is_file() else [inside]


def record(reject: Reject) -> bytes:
    """One line of the file; half a surrogate pair stands as its escape."""
    facts = {
        "line": reject.line,
        "reason": reject.reason,
        "expected": expected(reject.reason),
        "detail": reject.detail,
        "text": reject.text,
    }
    return _line(facts)


def uncaptured(line: int, sample_id: str, verdict: str, flags: Sequence[str], state: str) -> bytes:
    """One line about a result without usable reasoning; `state` is that of its job."""
    return _line({"line": line, "sample_id": sample_id, "verdict": verdict, "flags": list(flags), "job": state})


def _line(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
