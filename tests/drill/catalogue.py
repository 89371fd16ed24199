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
