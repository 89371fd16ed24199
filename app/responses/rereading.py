"""Reparse: stored bodies are read anew by the present parser. No network, and a raw body is never touched.

A dataset is walked in the order of import, a few megabytes at a time, each page from a snapshot of its own. What is
read as before is left alone, so a reparse that was cut off is finished by running it again.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from anyio import to_thread

from app.capture import Form, Reading, read_body, said
from app.leasing.datasets import DatasetSettings
from app.model.ids import JobId, ResponseId
from app.model.loss_flags import loaded
from app.model.states import Event, JobState, sources
from app.model.verdicts import Verdict
from app.responses import statements_stored
from app.responses.healing import said_before, with_turns
from app.responses.read import reading_row
from app.responses.rewriting import Changed, Rewrite, rewrite
from app.responses.token_ids import other_token_ids
from app.responses.transitions import Report, Transition
from app.responses.unread import UNREADABLE, opened
from app.store.batch import bind_rows
from app.store.codec import unpack
from app.store.store import Store

PAGE = 500  # places in the order of import
ROWS = 250  # bodies of one transaction
BYTES = 16 * 2**20  # of their uncompressed bytes; a larger body goes alone
COMPARED = (
    "verdict", "flags", "loss_flags", "found", "reasoning", "content", "text_form", "tool_calls", "finish_reason",
    "usage", "parts", "choices",
)  # fmt: skip
_stored_values, _values_of = attrgetter(*COMPARED), itemgetter(*COMPARED)  # of a stored reading, and of a new one
WITHOUT_ANSWER = frozenset(sources(Event.ACCEPT)) - {JobState.LEASED}


@dataclass(frozen=True, slots=True)
class Reparse:
    """One dataset to be read anew."""

    dataset: DatasetSettings
    apply: bool = False
    allow_regression: bool = False


async def reparse(store: Store, request: Reparse, progress: Callable[[int, int], None]) -> Report:
    """Read every stored body of a dataset; write what is read differently, where that is asked for."""
    report = Report(request.dataset.name, request.apply)
    async with store.snapshot() as reads:
        last = int(await reads.value(statements_stored.last_ordinal(), {"dataset": request.dataset.id}) or 0)
    async for place, responses in _batches(store, request.dataset, last):
        async with store.snapshot() as reads:
            rows = await reads.rows(
                statements_stored.to_reread(), {"responses": bind_rows((one,) for one in responses)}
            )
        changed = await with_turns(store, rows, await to_thread.run_sync(_compare, rows))
        report.bodies += len(responses)
        report.unchanged += len(rows) - len(changed)
        report.overtaken += len(responses) - len(rows)
        await _take(store, request, report, changed)
        progress(place, last)
    return report


async def _batches(store: Store, dataset: DatasetSettings, last: int) -> AsyncIterator[tuple[int, list[ResponseId]]]:
    """The numbers of the bodies, as many as one step takes, each with the place that is reached by it."""
    for after in range(0, last, PAGE):
        page = {"dataset": dataset.id, "after": after, "until": after + PAGE}
        async with store.snapshot() as reads:
            rows = await reads.rows(statements_stored.readable_bodies(), page)
        for batch in _cut(rows):
            yield batch[-1].ordinal, [ResponseId(row.id) for row in batch]


def _cut(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Rows by job, as many as fit; all bodies of one job stay together."""
    batch: list[Any] = []
    size = 0
    for _, of_job in groupby(rows, key=lambda row: row.job_id):
        more = list(of_job)
        weight = sum(row.raw_bytes for row in more)
        if batch and (len(batch) + len(more) > ROWS or size + weight > BYTES):
            yield batch
            batch, size = [], 0
        batch += more
        size += weight
    if batch:
        yield batch


def _compare(rows: Sequence[Any]) -> list[Changed]:
    return [changed for row in rows if (changed := _changed(row)) is not None]


def _changed(row: Any) -> Changed | None:
    """The new reading of a body, if it says anything else than the present one."""
    reading = read_anew(row)
    response = ResponseId(row.id)
    anew = reading_row(response, 0, reading)
    other_ids = other_token_ids(row, reading)
    if not other_ids and _values_of(anew) == _stored_values(row):
        return None
    was_none = Verdict(row.verdict) is Verdict.MALFORMED
    heals = was_none and reading.verdict is not Verdict.MALFORMED and not row.answered and row.state in WITHOUT_ANSWER
    return Changed(
        response=response,
        job=JobId(row.job_id),
        attempt=row.attempt,
        transition=Transition(
            Verdict(row.verdict), reading.verdict, accepted=bool(row.stands), history=_goes_on_otherwise(row, reading)
        ),
        seen_seq=row.seq,
        reading=reading,
        flags_before=loaded(row.loss_flags),
        expected=bool(row.expected),
        latency_ms=None if row.requested_ms is None else row.received_ms - row.requested_ms,
        received_ms=row.received_ms,
        imported=row.worker_id is None,
        finishes=heals,
        other_token_ids=bool(other_ids),
        conversation=row.turns > 1,
    )


def _goes_on_otherwise(row: Any, reading: Reading) -> bool:
    """Whether later turns were asked after another answer than the new reading sees."""
    if not row.asked_after:
        return False
    if reading is UNREADABLE:
        return True
    anew = said(unpack(row.codec, row.raw), Form(row.form), reading.reasoning, reading.content, reading.tool_calls)
    return not anew.goes_on_as(said_before(row))


def read_anew(row: Any) -> Reading:
    """What the present parser sees in a stored body; `row` has all that a reading depends on."""
    found = opened(row)
    return UNREADABLE if isinstance(found, str) else read_body(row.http_status, *found)


async def _take(store: Store, request: Reparse, report: Report, changed: list[Changed]) -> None:
    """Count a batch, and write it where that is asked for."""
    taken = [one for one in changed if request.allow_regression or not one.transition.regression]
    if not request.apply:
        _count(report, changed)
        report.finished += len({one.job for one in taken if one.finishes and not one.conversation})
        report.finished += sum(one.turns[-1].answer.last for one in taken if one.turns)
        report.reopened += sum(one.reopens is not None for one in taken)
        return
    done = await store.write(rewrite, Rewrite(taken)) if taken else None
    skipped = done.overtaken if done is not None else frozenset[ResponseId]()
    _count(report, [one for one in changed if one.response not in skipped])
    report.kept += len(changed) - len(taken)
    report.overtaken += len(skipped)
    report.finished += done.finished if done is not None else 0
    report.reopened += done.reopened if done is not None else 0


def _count(report: Report, changed: list[Changed]) -> None:
    for one in changed:
        report.count(one.transition, one.flags_before, one.reading.loss_flags)
