"""Windows and holds of gates and alarms: letters that mean something, and counts that can be."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.model.gates import GATED, RING, UNREADABLE, Outcome
from app.verify.findings import Finding

RESUME = "restart the window with `thinkledger datasets resume NAME`"
LETTERS = frozenset(map(str, Outcome))


def check_windows(rows: Sequence[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Windows that cannot have come about."""
    for row in rows:
        for what in _wrong(row):
            yield Finding(f"its window of endpoint {row.endpoint_id} {what}", RESUME, names.get(row.dataset_id))


def _wrong(row: Any) -> Iterator[str]:
    if set(row.recent) - LETTERS or set(row.first) - set(GATED):
        yield "holds letters that mean nothing"
    if len(row.recent) > RING:
        yield f"remembers {len(row.recent)} answers, where {RING} is the most"
    if row.lost > row.answers:
        yield f"says {row.lost:,} of {row.answers:,} answers were lost"
    readable = sum(letter not in UNREADABLE for letter in row.recent)
    if readable > row.answers:
        yield f"remembers {readable} answers and counts {row.answers:,}"


def check_holds(rows: Sequence[Any], seq: int, names: Mapping[int, str]) -> Iterator[Finding]:
    """Holds from after the newest transaction."""
    for row in rows:
        if row.since_seq > seq:
            what = f"its {row.kind} hold is of transaction {row.since_seq:,}, after the newest one ({seq:,})"
            yield Finding(what, RESUME, names.get(row.dataset_id))
