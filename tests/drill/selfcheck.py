"""The drill must be able to fail: with each sabotage in place, a scenario that would have held must not."""

from tests.drill.broken import BROKEN
from tests.drill.catalogue import FAULTS, Size
from tests.drill.runner import Row, Run, play

CATCHERS = {"fence": "stopped-past-lease", "early_ack": "killed-while-reading", "rescue_guard": "rescue-after-done"}


def caught(broken: str, seed: int) -> Row:
    """The row of the scenario that has to catch `broken`; it was caught where the row was not held."""
    assert set(CATCHERS) == set(BROKEN)
    return play(FAULTS[CATCHERS[broken]], Run(seed, Size.SHORT, broken=broken))


def is_caught(row: Row) -> bool:
    """Whether an invariant of the store said so: a scenario that merely broke off has caught nothing."""
    return bool(row.findings.words)
