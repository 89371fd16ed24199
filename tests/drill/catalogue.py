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
OF_FILES = "stores"  # the family of faults of the file itself: its disk, its lock, its bytes
ONLY_FILES = frozenset([  # faults of other families that only a file has
    "kill-making",  # a schema on a server is one transaction: there is nothing half made to be found
    "kill-backup",  # `backup` copies a file; a database is dumped by pg_dump
])  # fmt: skip


def makes_sense(fault: "Fault", *, on_server: bool) -> bool:
    """Whether a fault can be played with stores of that kind."""
    if fault.family == ON_SERVERS:
        return on_server
    return not on_server or (fault.family != OF_FILES and fault.name not in ONLY_FILES)


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
