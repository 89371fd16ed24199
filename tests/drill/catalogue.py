"""The faults that are tried: each a function on a stage, with the words of its row."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.drill.stage import Stage


class Size(IntEnum):
    """How much of the drill is run: FULL contains SHORT, LONG is what is in neither."""

    SHORT = 0  # five minutes, with every change
    FULL = 1  # at most forty minutes
    LONG = 2  # the rest


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table."""

    name: str
    family: str
    what: str  # the fault, in words
    holds: str  # what must hold, in words
    play: "Callable[[Stage], None]"
    size: Size = Size.FULL  # the smallest drill that it belongs to
    alone: bool = False  # it measures: nothing else may run beside it
    needs: Callable[[], str | None] = lambda: None  # why it cannot be run here, if it cannot


FAULTS: dict[str, Fault] = {}
ON_SERVERS = "databases"  # the family of faults that only a store on a server has
ON_BOTH = frozenset([  # faults that are the same wherever the store lies
    "kill-claim", "kill-ask", "kill-keep", "kill-settle", "kill-fail", "kill-start", "kill-end", "kill-rescue",
    "kill-beat", "kill-random", "kill-one-of-two", "killed-while-reading", "rescue-after-done", "two-rescuers",
    "slow-worker", "completed-twice", "drained", "orphans",
])  # fmt: skip


def makes_sense(fault: "Fault", *, on_server: bool) -> bool:
    """Whether a fault can be played with stores of that kind."""
    if fault.family == ON_SERVERS:
        return on_server
    return not on_server or fault.name in ON_BOTH


def fault(
    name: str,
    what: str,
    holds: str,
    *,
    size: Size = Size.FULL,
    alone: bool = False,
    needs: Callable[[], str | None] = lambda: None,
) -> "Callable[[Callable[[Stage], None]], Callable[[Stage], None]]":
    """Put the decorated function into the catalogue; its module is its family."""

    def add(play: "Callable[[Stage], None]") -> "Callable[[Stage], None]":
        assert name not in FAULTS, name
        family = play.__module__.rpartition(".")[2]
        FAULTS[name] = Fault(name, family, what, holds, play, size, alone, needs)
        return play

    return add
