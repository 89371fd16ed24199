"""Rows to be told of one by one, a JSON object a line, in files beside the imported one: those not taken, and results
that were taken without their reasoning."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from app.intake.lines import STDIN
from app.intake.refusal import expected
from app.intake.rows import Reject

ENDING = ".rejects.jsonl"
UNCAPTURED = ".uncaptured.jsonl"


class SideFile:
    """Writes the file with its first line. One of an earlier import of the same file goes away at the start."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._file: BinaryIO | None = None
        self.path: Path | None = None

    def __enter__(self) -> "SideFile":
        for place in self._places:
            try:
                place.unlink(missing_ok=True)
            except OSError:  # a folder that cannot be written: what lies there is not ours
                continue
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines; they are in the file when this returns."""
        if not lines:
            return
        if self._file is None:
            self._file = self._create()
        self._file.write(b"".join(lines))
        self._file.flush()

    def _create(self) -> BinaryIO:
        """The file at the first place that can be written; never through a link that somebody left there."""
        for place in self._places[:-1]:
            try:
                return self._create_at(place)
            except OSError:
                continue
        return self._create_at(self._places[-1])

    def _create_at(self, place: Path) -> BinaryIO:
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self.path = place
        return open(descriptor, "wb")  # noqa: PTH123 - a descriptor; closed by __exit__


def places(path: str, dataset: str, store_folder: Path, ending: str = ENDING) -> list[Path]:
    """Where such a file may go: beside the imported one, else into the store's folder."""
    if path == STDIN:
        return [store_folder / f"{dataset}.stdin{ending}"]
    file = Path(path)
    inside = store_folder / (file.name + ending)
    return [file.with_name(file.name + ending), inside] if file.is_file() else [inside]


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
