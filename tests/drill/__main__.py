"""`python -m tests.drill`: list or play faults, print the table, write it into the page."""

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import tests.drill.scenarios  # noqa: F401 - fills the catalogue
from tests.drill import table
from tests.drill.broken import BROKEN
from tests.drill.catalogue import FAULTS, Fault, Size, makes_sense
from tests.drill.runner import Row, Run, play_all
from tests.drill.selfcheck import CATCHERS, caught, is_caught
from tests.support.forks import ROOT
from tests.support.postgres import server

PAGE = ROOT / "docs" / "reliability.md"
FAMILIES = (
    "kills_of_workers", "conversations", "kills_of_commands", "pauses_and_rescues", "stores", "servers", "answers",
    "versions", "clocks", "load", "databases",
)  # fmt: skip
ORDER = {family: place for place, family in enumerate(FAMILIES)}
SIZES = {size.name.lower(): size for size in Size}


def main(argv: Sequence[str]) -> int:
    """Exit status 1 where something did not hold, or where a sabotage was not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="full", help="how much is tried (default: %(default)s)")
    parser.add_argument("--only", metavar="NAME", action="append", help="this fault, whatever its size; repeat")
    parser.add_argument("--seed", type=int, default=20, help="the same seed gives the same schedule")
    parser.add_argument("--list", action="store_true", help="show the schedule and play nothing")
    parser.add_argument("--side-by-side", type=int, default=3, metavar="N", help="faults played at the same time")
    parser.add_argument("--broken", choices=sorted(BROKEN), help="play with a sabotage: the drill must fail")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the stores of what did not hold")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite", help="where the stores lie")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing more after so long")
    said = parser.parse_args(argv)
    on_server = said.store == "postgresql"
    if on_server and said.write:
        parser.error("--write keeps the table of stores in files")
    run = Run(said.seed, SIZES[said.size], said.side_by_side, said.keep, said.broken, said.minutes, on_server)
    chosen = [fault for fault in _chosen(said.only, run.size) if makes_sense(fault, on_server=on_server)]
    if not chosen:
        parser.error(f"none of these can be played with stores on {said.store}")
    _say(f"seed {run.seed}, size {said.size}: {', '.join(fault.name for fault in chosen)}")
    if said.list:
        for fault in chosen:
            _say(f"{fault.name:28} {fault.size.name.lower():6} {fault.what}: {fault.holds}")
        return 0
    if on_server:
        server()  # before anything is forked: its port, and where this host keeps locks and spools
    checked = said.only is None and said.broken is None and not on_server
    return _play(chosen, run, write=said.write, checked=checked)


def _chosen(only: list[str] | None, size: Size) -> list[Fault]:
    if only is not None:
        return [FAULTS[name] for name in only]
    if size is Size.LONG:  # the rest
        return [fault for fault in FAULTS.values() if fault.size is Size.LONG]
    return sorted((fault for fault in FAULTS.values() if fault.size <= size), key=lambda fault: ORDER[fault.family])


def _play(chosen: Sequence[Fault], run: Run, *, write: bool, checked: bool) -> int:
    begun = time.monotonic()
    checks = _check_the_drill(run.seed) if checked else []
    rows = play_all(chosen, run, _tell)
    minutes = (time.monotonic() - begun) / 60
    _say("", table.as_text(rows), "", *checks, table.totals(rows), f"It took {minutes:.1f} minutes.")
    if write:
        caught_lines = ["The drill itself was checked first:", "", *(f"- {line}" for line in checks), ""]
        load = os.getloadavg()[0]
        how = (
            f"Seed {run.seed}, size {run.size.name.lower()}, {minutes:.0f} minutes on {_cores()} cores "
            f"(load at its end {load:.1f})."
        )
        table.write(PAGE, "\n".join([how, "", *caught_lines, table.as_markdown(rows)]))
    failed = any(row.words for row in rows) or any("NOT" in line for line in checks)
    return 1 if failed else 0


def _check_the_drill(seed: int) -> list[str]:
    """The three sabotages, each of which must be seen."""
    lines = []
    for broken in BROKEN:
        row = caught(broken, seed)
        seen = f"caught by {CATCHERS[broken]} ({row.findings.words[0]})" if is_caught(row) else "NOT CAUGHT"
        lines.append(f"sabotage `{broken}`: {seen}")
        _say(lines[-1])
    return lines


def _cores() -> int:
    return os.cpu_count() or 1


def _tell(row: Row) -> None:
    end = "not run: " + row.not_run if row.not_run is not None else "held" if row.held else "DID NOT HOLD"
    _say(f"{row.fault.name:28} {row.seconds:6.1f} s  {row.ledger.kills:4} kills  {end}")
    if row.ledger.schedule:
        _say(f"    schedule: {' '.join(row.ledger.schedule)}")
    for words in row.words:
        _say(f"    {words}")


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
