"""Every verdict with its jobs, and what of them the capture rate speaks of."""

from dataclasses import dataclass

from app.model.verdicts import CAPTURED, GRADED, Fraction, Verdict
from app.progress.overview import Tally


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One verdict: done jobs where thinking was expected, and where it was switched off."""

    verdict: Verdict
    expected: int
    unexpected: int

    @property
    def captured(self) -> bool:
        return self.verdict in CAPTURED

    @property
    def graded(self) -> bool:
        """Whether its expected jobs are in the capture rate."""
        return self.verdict in GRADED


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """All verdicts that a done job can have. `capture.whole`, `truncated.part`, `unexpected` and `other` are `done`."""

    rows: tuple[VerdictRow, ...]
    done: int
    capture: Fraction
    truncated: Fraction
    unexpected: int  # thinking was switched off: in no rate
    other: int  # expected, and neither graded nor truncated: 0 unless a reading contradicts its request


def verdict_table(tally: Tally) -> VerdictTable:
    """The table of a dataset's tally, or of the sum of several."""
    rows = tuple(
        VerdictRow(verdict, tally.expected.get(verdict, 0), tally.unexpected.get(verdict, 0))
        for verdict in Verdict
        if verdict is not Verdict.MALFORMED
    )
    done = sum(row.expected + row.unexpected for row in rows)
    unexpected = sum(row.unexpected for row in rows)
    other = done - unexpected - tally.capture.whole - tally.truncated.part
    return VerdictTable(rows, done, tally.capture, tally.truncated, unexpected, other)
