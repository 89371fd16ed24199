"""What a run of SpecForge left without an answer, or answered twice: each such id is named.

SpecForge writes its rows in the order in which they end, failed and skipped ones into two files beside its result, and
goes on after a stop by counting the lines of all three. So a stop costs it prompts that were in flight, and others are
asked twice. Its files say so only when they are held against each other and against the prompts.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anyio import to_thread

from app.intake import statements
from app.intake.identity import ID_FIELDS
from app.intake.lines import STDIN, open_lines
from app.intake.refusal import RowRefused
from app.intake.rows import Reading, Row, read_row
from app.intake.split import Line
from app.intake.strict_json import read_json
from app.model.ids import DatasetId
from app.model.states import JobState
from app.store.batch import bind_rows
from app.store.store import Store

FORMAT = "specforge"
_ENDINGS = ("error", "skipped")  # of the files, and the status of their rows
_PAGE = 5_000


@dataclass(frozen=True, slots=True)
class _Failed:
    """A row of a companion file. Without an id it is known by its place only."""

    sample_id: str | None
    fate: str
    file: str
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class Run:
    """A result file that was just imported."""

    dataset: DatasetId
    path: str
    reading: Reading


async def account(store: Store, run: Run, write: Callable[[Sequence[bytes]], None]) -> Counter[str]:
    """Write a line for each id that has not one answer, and count them: doubled, error, skipped or lost."""
    fates: Counter[str] = Counter()
    named: set[str] = set()
    for fate, file in companions(run.path):
        rows = _failed(file, fate, run.reading)
        while page := await to_thread.run_sync(_next_page, rows):
            states = await _states(store, run.dataset, [one.sample_id for one in page if one.sample_id is not None])
            named.update(one.sample_id for one in page if one.sample_id is not None)
            lines = [_line(one, states) for one in page]
            write([json.dumps(line).encode() + b"\n" for line in lines])
            fates.update(str(line["fate"]) for line in lines)
    async for lost in _lost(store, run.dataset, named):
        write([json.dumps({"sample_id": name, "fate": "lost", "job": state}).encode() + b"\n" for name, state in lost])
        fates["lost"] += len(lost)
    return fates


def companions(path: str) -> list[tuple[str, Path]]:
    """The files that SpecForge writes beside a result of this name, those that are there."""
    if path == STDIN:
        return []
    file = Path(path)
    pairs = [(ending, file.with_name(file.name.replace(".jsonl", f"_{ending}.jsonl"))) for ending in _ENDINGS]
    return [(fate, beside) for fate, beside in pairs if beside.name != file.name and beside.is_file()]


def _next_page(rows: Iterator[_Failed]) -> list[_Failed]:
    return list(islice(rows, _PAGE))


def _failed(file: Path, fate: str, reading: Reading) -> Iterator[_Failed]:
    with open_lines(str(file)) as lines:
        for line in lines:
            if line.fault is not None or line.data.strip():
                yield _failed_row(file.name, line, fate, reading)


def _failed_row(file: str, line: Line, fate: str, reading: Reading) -> _Failed:
    row = read_row(line.number, line.data, reading) if line.fault is None else None
    try:
        value = read_json(line.data)
    except RowRefused:
        value = None
    facts = value if isinstance(value, dict) else {}
    name = row.identity.base_id if isinstance(row, Row) else _name(facts)
    return _Failed(name, fate, file, line.number, str(facts.get("error", "the line cannot be read")))


def _name(facts: Mapping[str, object]) -> str | None:
    """The id of a row that no format takes, as SpecForge skips them too."""
    found = (facts.get(field) for field in ID_FIELDS)
    return next((str(value) for value in found if value is not None and value != ""), None)


async def _states(store: Store, dataset: DatasetId, names: Sequence[str]) -> dict[str, str]:
    async with store.snapshot() as reads:
        params = {"dataset": dataset, "names": bind_rows((name,) for name in sorted(set(names)))}
        return {row.sample_id: row.state for row in await reads.rows(statements.named_jobs(), params)}


def _line(one: _Failed, states: Mapping[str, str]) -> dict[str, object]:
    state = None if one.sample_id is None else states.get(one.sample_id)
    fate = "doubled" if state == JobState.DONE else one.fate  # answered as well
    return {
        "sample_id": one.sample_id, "fate": fate, "job": state, "file": one.file, "line": one.line, "detail": one.detail
    }  # fmt: skip


async def _lost(store: Store, dataset: DatasetId, named: set[str]) -> AsyncIterator[list[tuple[str, str]]]:
    """Prompts of the dataset that nothing has answered and no companion file names, in the order of import."""
    after = 0
    while True:
        async with store.snapshot() as reads:
            page = {"dataset": dataset, "after": after, "limit": _PAGE}
            rows = await reads.rows(statements.unanswered(), page)
        if not rows:
            return
        after = rows[-1].ordinal
        yield [(row.sample_id, row.state) for row in rows if row.sample_id not in named]
