"""What is measured, as rows of one table: figure, target, measured, holds or not."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value and the bound that it is to hold."""

    experiment: str
    name: str
    measured: float
    target: float
    unit: str = ""  # empty: a ratio
    at_least: bool = False  # the target is a lower bound
    note: str = ""  # what a reader needs beside the number: the two sides of a ratio

    @property
    def holds(self) -> bool:
        """Whether the measured value, not rounded, is within its bound."""
        return self.measured >= self.target if self.at_least else self.measured <= self.target

    @property
    def bound(self) -> str:
        """The target in words."""
        return f"{'>=' if self.at_least else '<='} {self.target:g}{_unit(self.unit)}"

    @property
    def value(self) -> str:
        """The measured value with three digits that say something."""
        return f"{self.measured:.3g}{_unit(self.unit)}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def table(figures: Sequence[Figure]) -> str:
    """The figures as aligned lines; what a figure was made of stands at the end of its line."""
    head = ("", "figure", "target", "measured", "holds", "")
    rows = [(one.experiment, one.name, one.bound, one.value, "yes" if one.holds else "NO", one.note) for one in figures]
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines)


def write_json(figures: Sequence[Figure], path: Path, **about: object) -> None:
    """The same for programs."""
    rows = [asdict(one) | {"holds": one.holds} for one in figures]
    path.write_text(json.dumps({"schema": 1, **about, "figures": rows}, indent=1) + "\n", encoding="utf-8")
