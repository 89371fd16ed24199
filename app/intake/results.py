"""Rows that hold an answer of an earlier run: the sample and job of each, and whether the job takes the answer."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.intake import statements
from app.intake.matching import Matched
from app.intake.rejects import uncaptured
from app.intake.rows import Reject, Row, beginning
from app.model.conversation import next_prompt
from app.model.ids import DatasetId, JobId
from app.model.states import JobState
from app.model.verdicts import CAPTURED, Verdict
from app.responses.imported import Bodies, JobResult, Result, known_bodies, take_results
from app.store.batch import bind_rows
from app.store.store import Store
from app.store.transaction import Tx

WHOLE = CAPTURED | {Verdict.NONE_EXPECTED}


@dataclass(slots=True)
class Taken:
    """What became of the results of a batch."""

    fresh: list[Row] = field(default_factory=list)  # of samples that were not there
    filled: list[Row] = field(default_factory=list)  # of jobs that had no answer yet
    present: list[Row] = field(default_factory=list)  # stored by an earlier import
    rejects: list[Reject] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)  # keys of samples that rows of this file are
    verdicts: list[Verdict] = field(default_factory=list)  # of the answers that were stored
    uncaptured: list[bytes] = field(default_factory=list)  # lines of the report
    tries: dict[int, frozenset[Bodies]] = field(default_factory=dict)  # as `Results.tries`, with the rows of the batch


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a batch, read; and what tells whether a sample was met in this file before."""

    dataset: DatasetId
    file: str
    rows: Sequence[Row]
    read: Mapping[int, Result]  # by line
    answered: Matched  # samples that results of this file were for; a prompt of the same file is another matter
    tries: Mapping[int, frozenset[Bodies]]  # by sample key, where a row of this file was no answer: the bodies it had


async def find_prompts(store: Store, dataset: DatasetId | None, rows: list[Row]) -> tuple[list[Row], list[Reject]]:
    """The rows with the prompts that they hold not themselves, and those whose prompt is not there."""
    names = [(_name(row),) for row in rows if row.prompt_elsewhere]
    if not names:
        return rows, []
    async with store.snapshot() as reads:
        params = {"dataset": dataset, "names": bind_rows(names)}
        found = {row.sample_id: row for row in await reads.rows(statements.named_jobs(), params)}
    kept = [_with_prompt(row, found[_name(row)]) if row.prompt_elsewhere else row for row in rows if _has(row, found)]
    rejects = [_reject(row, "no_prompt", f"there is no sample {_name(row)!r}") for row in rows if not _has(row, found)]
    return kept, rejects


def without_breaks(rows: Sequence[Row], read: Mapping[int, Result]) -> tuple[list[Row], list[Reject]]:
    """The rows whose conversations come to their end, and those that would go on after their last answer."""
    breaks = {row.line for row in rows if row.line in read and _goes_on(row, read[row.line])}
    rejects = [_unfinished(row, read[row.line]) for row in rows if row.line in breaks]
    return [row for row in rows if row.line not in breaks], rejects


def _goes_on(row: Row, result: Result) -> bool:
    if result.earlier is None or len(result.turns) == row.turns:
        return False
    return next_prompt(json.loads(row.messages), [turn.said for turn in result.turns]) is not None


def _has(row: Row, found: Mapping[str, Any]) -> bool:
    return not row.prompt_elsewhere or _name(row) in found


def _with_prompt(row: Row, sample: Any) -> Row:
    identity = replace(row.identity, content_sha256=sample.content_sha256)
    return replace(row, identity=identity, messages=sample.messages)


async def add_results(tx: Tx, results: Results, insert: Callable[[Sequence[Row]], Any]) -> Taken:
    """Give each result to its job; samples that are not there are made by `insert`."""
    taken = Taken()
    for rows in _one_an_id(results.rows):
        found = await _found(tx, results.dataset, rows)
        new = [row for row in rows if _name(row) not in found]
        if new:
            await insert(new)
            taken.fresh += new
            found |= await _found(tx, results.dataset, new)
        await _give(tx, results, rows, found, taken)
    return taken


def _one_an_id(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in rounds: an id that comes again waits for the next one."""
    left = list(rows)
    while left:
        names: set[str] = set()
        later: list[Row] = []
        taken: list[Row] = []
        for row in left:
            (later if _name(row) in names else taken).append(row)
            names.add(_name(row))
        yield taken
        left = later


def _name(row: Row) -> str:
    return row.identity.base_id


async def _found(tx: Tx, dataset: DatasetId, rows: Sequence[Row]) -> dict[str, Any]:
    """The sample and job of each id."""
    params = {"dataset": dataset, "names": bind_rows((_name(row),) for row in rows)}
    return {row.sample_id: row for row in await tx.rows(statements.named_jobs(), params)}


async def _give(tx: Tx, results: Results, rows: Sequence[Row], found: Mapping[str, Any], taken: Taken) -> None:
    fitting = []
    for row in rows:
        sample = found[_name(row)]
        if not _same_question(row, sample):
            taken.rejects.append(_conflict(row, sample, results.file))
        elif sample.turns > 1 and results.read[row.line].earlier is None:
            taken.rejects.append(_one_of_several(row, sample))
        else:
            fitting.append((row, sample, JobResult(JobId(sample.job), results.read[row.line])))
    known = await known_bodies(tx, [one for _, _, one in fitting])
    given = await take_results(tx, [one for _, _, one in fitting if one.job not in known])
    new = {row.line for row in taken.fresh}
    for row, sample, one in fitting:
        again = row.line not in new and (sample.key in taken.seen or sample.key in results.answered)
        taken.seen.append(sample.key)
        further = _is_further_try(results, taken, sample.key, one)
        if one.job in given:
            _note(taken, row, one.result, sample.state, fresh=row.line in new)
        elif one.job in known and (further or not again):
            taken.present.append(row)
        elif again:
            taken.rejects.append(_again(row, sample, results.file))
        else:
            taken.rejects.append(_answered(row, sample))
        if one.job in given or one.job in known:
            _remember(results, taken, sample.key, one)


def _remember(results: Results, taken: Taken, key: int, one: JobResult) -> None:
    """Of a stored body that is no answer, and of those after it: what tells a further try from the same row again."""
    bodies = taken.tries.get(key) or results.tries.get(key, frozenset())
    if bodies or not one.result.readable:
        taken.tries[key] = bodies | {one.result.bodies}


def _is_further_try(results: Results, taken: Taken, key: int, one: JobResult) -> bool:
    """Whether an earlier row of the file was no answer to this sample, and this body is another than those since."""
    bodies = taken.tries.get(key) or results.tries.get(key, frozenset())
    return bool(bodies) and one.result.bodies not in bodies


def _same_question(row: Row, sample: Any) -> bool:
    """Old runs kept no tools with their answers: a row without any answers the same messages with some."""
    if sample.content_sha256 == row.identity.content_sha256:
        return True
    return row.tools is None and bool(sample.messages == row.messages)


def _note(taken: Taken, row: Row, result: Result, state: str, *, fresh: bool) -> None:
    verdict, flags = result.reading.verdict, result.reading.flags | result.reading.loss_flags
    taken.verdicts.append(verdict)
    if not fresh:
        taken.filled.append(row)
    if verdict not in WHOLE:
        now = JobState.DONE if result.readable else state
        taken.uncaptured.append(uncaptured(row.line, _name(row), verdict, sorted(flags), now))


def _place(sample: Any) -> str:
    return f"line {sample.source_row} of {sample.file or 'an earlier import'}"


def _conflict(row: Row, sample: Any, file: str) -> Reject:
    other = f"{_name(row)!r} has other content at {_place(sample)} than at line {row.line} of {file}"
    return _reject(row, "conflicting_id", other)


def _one_of_several(row: Row, sample: Any) -> Reject:
    detail = f"{_name(row)!r} is a conversation of {sample.turns} turns, and this is one answer"
    return _reject(row, "conversation", detail)


def _unfinished(row: Row, result: Result) -> Reject:
    detail = f"it has {len(result.turns)} answers, and its script asks for {row.turns}: it goes on after the last one"
    return _reject(row, "conversation", detail)


def _again(row: Row, sample: Any, file: str) -> Reject:
    return _reject(row, "duplicate_id", f"{_name(row)!r} at line {row.line} of {file} was met before: {_place(sample)}")


def _answered(row: Row, sample: Any) -> Reject:
    return _reject(row, "answered", f"the job of {_name(row)!r} is {sample.state} and keeps what it has")


def _reject(row: Row, reason: str, detail: str) -> Reject:
    return Reject(row.line, reason, detail, beginning(b"" if row.result is None else row.result.body))
