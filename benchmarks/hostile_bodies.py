"""P. The hostile body that takes the parser longest, against an ordinary one of its size (docs/decisions/0014)."""

from pathlib import Path

from benchmarks import parser
from benchmarks.figure import Figure
from benchmarks.scale import Scale


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """The worst of them; `python -m benchmarks parser` prints each."""
    plain, hostile = parser.seconds()
    name = max(hostile, key=lambda one: hostile[one])
    return [Figure("P", "worst hostile body against an ordinary one", hostile[name] / plain, 10, note=name)]
