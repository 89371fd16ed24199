"""Plays faults, one after another or a few at a time, and makes the rows of the table."""

import math
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.drill.catalogue import Fault, Size
from tests.drill.invariants import Findings
from tests.drill.stage import Ledger, Stage


@dataclass(frozen=True, slots=True)
class Run:
    """How a drill is run."""

    seed: int
    size: Size
    side_by_side: int = 2
    keep: Path | None = None  # a folder for the stores of faults that did not hold
    broken: str | None = None
    minutes: float = math.inf  # what has not begun by then is not run
    on_server: bool = False  # the stores are databases of a PostgreSQL server


@dataclass
class Row:
    """What came of one fault."""

    fault: Fault
    seconds: float = 0.0
    ledger: Ledger = field(default_factory=Ledger)
    findings: Findings = field(default_factory=Findings)
    not_run: str | None = None

    @property
    def words(self) -> list[str]:
        """What does not hold."""
        return [*self.ledger.problems, *self.findings.words]

    @property
    def held(self) -> bool:
        """Whether everything held."""
        return self.not_run is None and not self.words


def play_all(faults: Sequence[Fault], run: Run, told: Callable[[Row], None]) -> list[Row]:
    """Those that may share the machine first, then those that measure."""
    rows: dict[str, Row] = {}

    end_s = time.monotonic() + run.minutes * 60

    def one(fault: Fault) -> None:
        late = time.monotonic() > end_s
        rows[fault.name] = Row(fault, not_run="no time was left") if late else play(fault, run)
        told(rows[fault.name])

    with ThreadPoolExecutor(run.side_by_side) as threads:
        list(threads.map(one, [fault for fault in faults if not fault.alone]))
    for fault in faults:
        if fault.alone:
            one(fault)
    return [rows[fault.name] for fault in faults]


def play(fault: Fault, run: Run) -> Row:
    """One fault in a new folder."""
    reason = fault.needs()
    if reason is not None:
        return Row(fault, not_run=reason)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"drill-{fault.name}-", ignore_cleanup_errors=True) as folder:
        stage = Stage(Path(folder), f"{run.seed}:{fault.name}", run.size, run.broken, on_server=run.on_server)
        row = Row(fault, ledger=stage.ledger)
        try:
            fault.play(stage)
            row.findings = stage.examine()
        except Exception as error:  # noqa: BLE001 - a drill that breaks off reports its row as not held
            row.ledger.problems.append(f"{type(error).__name__}: {error}\n{traceback.format_exc()[-1500:]}")
        finally:
            stage.end_all()
        row.seconds = time.monotonic() - begun
        if row.words and run.keep is not None:
            run.keep.mkdir(parents=True, exist_ok=True)
            kept = run.keep / f"{fault.name}-{run.seed}"
            shutil.rmtree(kept, ignore_errors=True)  # of an earlier drill
            Path(folder).rename(kept)
            Path(folder).mkdir()
    return row
