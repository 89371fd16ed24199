"""What an import would make of a file, with nothing written. The store is not asked, so only the file itself counts."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.intake.chunks import Tally, chunks
from app.intake.identity import Origin
from app.intake.importing import check_file
from app.intake.lines import open_lines
from app.intake.matching import Repeats, numbered
from app.intake.refusal import expected
from app.intake.request import ImportReport, ImportRequest, Rejected
from app.intake.rows import Reject, Row
from app.model.config import DatasetConfig

_NAMED = 5  # rejects that are named one by one; the others are counted


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one row: the name it would get, or the reason why it is not taken."""

    row: Row | Reject
    sample_id: str | None = None
    dropped: str | None = None


@dataclass(slots=True)
class DryRun:
    """A dry run; `report` is whole once `fates` has been read to its end."""

    request: ImportRequest
    _seen: "_Seen" = field(default_factory=lambda: _Seen())
    _tally: Tally = field(default_factory=Tally)
    _fates: Counter[str] = field(default_factory=Counter)
    _first_rejected: list[Rejected] = field(default_factory=list)
    _sha256: str | None = None

    def fates(self) -> Iterator[Fate]:
        """The rows of the file in its order."""
        check_file(self.request.path)
        with open_lines(self.request.path) as lines:
            for chunk in chunks(lines, self.request.reading, self.request.limit):
                self._tally.add_rows(chunk.rows)
                rows: list[Row | Reject] = [*chunk.rows, *chunk.rejects]
                for row in sorted(rows, key=lambda one: one.line):
                    yield self._fate(row)
            self._sha256 = lines.sha256

    def _fate(self, row: Row | Reject) -> Fate:
        fate = Fate(row, None, row.reason) if isinstance(row, Reject) else self._seen.fate(row, self.request.repeats)
        if fate.dropped is None or fate.dropped == "repeated":
            self._fates["added" if fate.dropped is None else "dropped"] += 1
        else:
            self._fates["rejected"] += 1
            self._tally.reasons[fate.dropped.partition(":")[0]] += 1
            if len(self._first_rejected) < _NAMED:
                detail = row.detail if isinstance(row, Reject) else ""
                self._first_rejected.append(Rejected(row.line, fate.dropped, expected(fate.dropped), detail))
        return fate

    def report(self) -> ImportReport:
        """The counts of what would be done in an empty dataset."""
        return ImportReport(
            dataset=self.request.dataset,
            file=self.request.source_name,
            sha256=self._sha256,
            created=False,
            rows=self._fates.total(),
            added=self._fates["added"],
            present=0,
            dropped=self._fates["dropped"],
            rejected=self._fates["rejected"],
            repeated=self._seen.repeated,
            formats=dict(self._tally.formats),
            notes=dict(self._tally.notes),
            reasons=dict(self._tally.reasons),
            rejects=None,
            conversations=self._tally.conversations,
            turns=self._tally.turns,
            first_rejected=tuple(self._first_rejected),
            samples=DatasetConfig().changed(**self.request.said).samples,
        )


class _Seen:
    """The ids of the file so far: about 100 bytes a row."""

    def __init__(self) -> None:
        self._contents: dict[int, int] = {}  # base id -> its first content, both as 8 bytes of a hash
        self._numbers: Counter[str] = Counter()  # base ids that came more than once: how often again
        self._given: set[str] = set()  # names with a number
        self._others: set[tuple[str, int]] = set()  # further contents of a base id
        self.repeated = 0

    def fate(self, row: Row, repeats: Repeats) -> Fate:
        base_id, content = row.identity.base_id, _digest(row.content)
        first = self._contents.get(_digest(base_id))
        if first is None:
            self._contents[_digest(base_id)] = content
            return Fate(row, self._name(base_id))
        equal = content == first or (base_id, content) in self._others
        if not equal and row.identity.origin is Origin.EXPLICIT:
            return Fate(row, None, "conflicting_id")
        if equal and row.result is not None:
            return Fate(row, None, "duplicate_id")
        if equal and repeats.refuse:
            return Fate(row, None, "duplicate")
        self.repeated += equal
        if equal and repeats.drop:
            return Fate(row, None, "repeated")
        self._others.add((base_id, content))
        self._numbers[base_id] += 1
        return Fate(row, self._name(base_id))

    def _has(self, base_id: str) -> bool:
        return _digest(base_id) in self._contents

    def _name(self, base_id: str) -> str:
        """The row's name: the next number that no other id of the file has."""
        number = self._numbers[base_id] + 1 if base_id in self._numbers else 1
        while (name := numbered(base_id, number)) in self._given or (number > 1 and self._has(name)):
            number += 1
        if number > 1:
            self._given.add(name)
        return name


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def to_json(fate: Fate) -> bytes:
    """One line of `--dry-run --jsonl`."""
    row = fate.row
    kept = isinstance(row, Row) and fate.dropped is None
    shown = {
        "sample_id": fate.sample_id,
        "messages": json.loads(row.messages) if isinstance(row, Row) and kept else None,
        "tools": json.loads(row.tools) if isinstance(row, Row) and kept and row.tools is not None else None,
        "dropped": fate.dropped,
        "notes": list(row.notes) if isinstance(row, Row) and kept else [],
    }
    return json.dumps(shown, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
