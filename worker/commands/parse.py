"""`thinkledger parse`: what the parser makes of bodies, without a store or a server."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from app.model.errors import NotFound, UsageError
from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from app.capture.reading import Reading

STDIN = "-"


def register(app: typer.Typer) -> None:
    app.command("parse", help=HELP)(parse)


HELP = """Show what the parser makes of bodies: JSON lines in, JSON lines out; no store is needed.

A line is {"request": {"thinking", "profile", "prompt", "stream"}, "body" | "chunks" | "body_raw", "http_status"}.
A line that is none of this is named on stderr, the others go on, and the exit code is 6.
"""


def parse(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="JSON lines; - is standard input.")] = STDIN,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="One JSON object a line, on a terminal too (elsewhere always).")
    ] = False,
) -> None:
    """Read every line; the verdicts are counted on stderr."""
    from app.capture.case import LineRefused, read_case, reading_line

    as_jsonl = as_jsonl or not sys.stdout.isatty()
    verdicts: Counter[str] = Counter()
    refused = 0
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                case = read_case(line)
            except LineRefused as reason:
                refused += 1
                cli_context.say(f"error: line {number}: {reason}")
                continue
            reading = case.read()
            verdicts[reading.verdict] += 1
            if as_jsonl:
                sys.stdout.buffer.write(reading_line(case, reading))
            else:
                cli_context.put(_shown(number, case.id, reading))
    sys.stdout.buffer.flush()
    counts = ", ".join(f"{verdict} {count:,}" for verdict, count in sorted(verdicts.items()))
    cli_context.say(f"{verdicts.total():,} bodies read{f': {counts}' if counts else ''}; {refused:,} lines refused")
    raise typer.Exit(int(Exit.INCOMPLETE if refused else Exit.DONE))


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == STDIN:
        yield sys.stdin.buffer
        return
    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{file} is a folder. Name a file of JSON lines.")
    try:
        with path.open("rb") as lines:
            yield lines
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.") from None


def _shown(number: int, case: object, reading: Reading) -> str:
    """One body for a person: sizes in place of texts."""
    from app.progress.display import one_line

    name = one_line(f"line {number}" if case is None else str(case))
    reasoning = "-" if reading.reasoning is None else f"{len(reading.reasoning):,}"
    content = "-" if reading.content is None else f"{len(reading.content):,}"
    flags = sorted(reading.flags | reading.loss_flags)
    return f"{name}  {reading.verdict}  reasoning {reasoning}  content {content}  {' '.join(flags)}"
