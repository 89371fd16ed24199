"""The table of a drill, as text for a terminal and as the generated part of the page."""

from collections.abc import Sequence
from pathlib import Path

from tests.drill.runner import Row

BEGIN, END = "<!-- drill: begin -->", "<!-- drill: end -->"
HEAD = ("fault", "times", "samples", "lost", "doubled", "wrong", "asked again", "may be", "resumes in", "came out")


def cells(row: Row) -> tuple[str, ...]:
    """One row; what was not run has no numbers."""
    if row.not_run is not None:
        return (row.fault.what, *("-" for _ in HEAD[2:]), f"NOT RUN: {row.not_run}")
    found, ledger = row.findings, row.ledger
    resumes = f"{max(ledger.resumes_s):.1f} s" if ledger.resumes_s else "-"
    numbers = (ledger.tried, found.samples, found.lost, found.doubled, found.wrong, found.asked_again, found.bound)
    end = "held" if row.held else "DID NOT HOLD"
    return (row.fault.what, *(f"{number:,}" for number in numbers), resumes, "; ".join([end, *ledger.figures]))


def totals(rows: Sequence[Row]) -> str:
    """The drill in one sentence."""
    run = [row for row in rows if row.not_run is None]
    kills = sum(row.ledger.kills for row in run)
    samples = sum(row.findings.samples for row in run)
    lost, doubled, wrong = (sum(getattr(row.findings, kind) for row in run) for kind in ("lost", "doubled", "wrong"))
    broken = [row.fault.name for row in run if not row.held]
    verdict = "everything held" if not broken else f"did NOT hold: {', '.join(broken)}"
    skipped = f", {len(rows) - len(run)} not run" if len(rows) > len(run) else ""
    return (
        f"{len(run)} faults{skipped}, {kills:,} kills, {samples:,} samples: {lost} lost, {doubled} doubled, "
        f"{wrong} wrong; {verdict}."
    )


def as_text(rows: Sequence[Row]) -> str:
    """Columns in line."""
    table = [HEAD, *(cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in table) for place in range(len(HEAD) - 1)]
    lines = []
    for line in table:
        left = line[0].ljust(widths[0])
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:], strict=True))
        lines.append(f"{left}  {numbers}  {line[-1]}")
    return "\n".join(lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """The table by family, with what must hold."""
    lines = [totals(rows)]
    for family in dict.fromkeys(row.fault.family for row in rows):
        lines += ["", f"### {family.replace('_', ' ').capitalize()}", "", _line(HEAD), _line(["---"] * len(HEAD))]
        of_family = [row for row in rows if row.fault.family == family]
        lines += [_line(cells(row)) for row in of_family]
        lines += ["", *(f"- `{row.fault.name}`: {row.fault.holds}" for row in of_family)]
    return "\n".join(lines)


def _line(line: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def write(page: Path, generated: str) -> None:
    """Put the generated part between its markers; the rest of the page stays."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{generated}\n{END}{after}", encoding="utf-8")
