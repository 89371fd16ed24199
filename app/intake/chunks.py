"""A file as chunks of rows: what one transaction takes, bounded in rows and in bytes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.intake.lines import Rows
from app.intake.rows import Reading, Reject, Row, beginning, read_row
from app.intake.split import Line

ROWS = 8_000  # a transaction of half a second: fewer would rewrite the same pages of the indexes more often
BYTES = 4 * 2**20


@dataclass(slots=True)
class Chunk:
    """Some rows of a file that follow each other, and how far the file is read with them."""

    rows: list[Row] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    bytes_read: int = 0  # of the file, up to and with this chunk

    @property
    def count(self) -> int:
        return len(self.rows) + len(self.rejects)


@dataclass(slots=True)
class Tally:
    """What was seen in a file, by kind."""

    formats: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)  # by kind: what follows the colon left out
    reasons: Counter[str] = field(default_factory=Counter)
    conversations: int = 0  # rows that ask for several answers, and how many those are
    turns: int = 0

    def add_rows(self, rows: list[Row]) -> None:
        for row in rows:
            self.formats[row.format] += 1
            if row.turns > 1:
                self.conversations += 1
                self.turns += row.turns
            for note in row.notes:
                self.notes[note.partition(":")[0]] += 1

    def add_rejects(self, rejects: list[Reject]) -> None:
        for reject in rejects:
            self.reasons[reject.reason.partition(":")[0]] += 1


def chunks(lines: Rows, reading: Reading, limit: int | None) -> Iterator[Chunk]:
    """The rows of a file, at most `limit` of them. Blank lines are no rows."""
    chunk = Chunk()
    size = count = 0
    for line in lines:
        if line.fault is None and not line.data.strip():
            continue
        _take(chunk, line, reading)
        size += len(line.data)
        count += 1
        if count == limit:
            break
        if chunk.count >= ROWS or size >= BYTES:
            chunk.bytes_read = lines.bytes_read
            yield chunk
            chunk, size = Chunk(), 0
    chunk.bytes_read = lines.bytes_read
    yield chunk


def _take(chunk: Chunk, line: Line, reading: Reading) -> None:
    if line.fault is not None:
        chunk.rejects.append(Reject(line.number, line.fault, line.detail, beginning(line.data)))
        return
    row = read_row(line.number, line.data, reading)
    if isinstance(row, Row):
        chunk.rows.append(row)
    else:
        chunk.rejects.append(row)
