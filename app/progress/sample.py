"""One sample with everything that is stored about it: what was asked, each attempt, the body and its texts."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from app.capture import Form
from app.model.errors import NotFound
from app.model.ids import DatasetId, ResponseId
from app.model.loss_flags import loaded
from app.progress import statements
from app.progress.attempts import Attempt
from app.progress.filters import Listing
from app.progress.finding import dataset_named
from app.progress.reassembly import Reassembly, reassemble
from app.progress.samples import NOBODY, Neighbours, SampleLine, line, neighbours
from app.progress.turns import TurnView, read_turns
from app.store.codec import decode_text, unpack
from app.store.store import Store
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class ReadingFacts:
    """What the newest reading of a body says beside its texts."""

    seq: int
    parser_version: int
    verdict: str
    flags: tuple[str, ...]
    loss_flags: tuple[str, ...]  # what hints that text was lost
    finish_reason: str | None
    usage: str | None  # JSON
    tool_calls: int | None
    split: bool  # cut out of content by us, byte-exact; else the server split, exactness unknown
    parts: str | None  # JSON of lead, open and close tag of a split
    found: str | None  # where the reasoning was found


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored body with its HTTP facts; `reading` is None until it is read."""

    id: ResponseId
    attempt: int
    turn: int
    standing: str  # accepted, superseded, taken (a conversation goes on from it), late or kept
    worker: int | None
    leased_ms: int | None
    requested_ms: int | None
    received_ms: int
    http_status: int | None
    form: str
    expected: bool
    profile: str
    raw_text_sent: bool
    scrubbed: bool
    request: str | None  # JSON of all that was sent but messages and tools
    request_id: str | None
    raw_bytes: int
    raw_sha256: str
    base_url: str | None
    model: str | None
    fingerprint: str | None  # JSON
    reading: ReadingFacts | None


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt. `body` is what came of one that never ended."""

    attempt: int
    at_ms: int
    cause: str
    http_status: int | None
    message: str
    counted: bool
    body: bytes | None
    response: ResponseId | None  # the whole body, where it was stored
    leased_ms: int | None
    worker: int | None


@dataclass(frozen=True, slots=True)
class Texts:
    """The three columns of one answer. None is "not found", "" is "found, and empty"."""

    raw: bytes
    reasoning: str | None
    content: str | None


@dataclass(frozen=True, slots=True)
class SampleView:
    """One sample. `shown` is the answer whose texts are given: the accepted one, or that of the attempt asked for."""

    line: SampleLine
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    params: dict[str, Any] | None
    source_row: int
    answers: tuple[Answer, ...]
    failures: tuple[FailedAttempt, ...]
    attempts: tuple[Attempt, ...]
    shown: Answer | None
    texts: Texts | None
    reassembly: Reassembly | None  # of what is shown; None where no body is stored, or it was not read yet
    config: str  # JSON of the dataset's settings
    seed: int | None = None  # sent with its requests, where the sample is answered several times
    turns: tuple[TurnView, ...] = ()  # of a conversation, up to the one that is asked next
    turns_asked: int = 1  # that its sample asks for
    neighbours: Neighbours = NOBODY  # in the list that the sample was opened from


async def sample(
    store: Store,
    name: str,
    sample_id: str,
    *,
    replica: int = 0,
    attempt: int | None = None,
    turn: int | None = None,
    listing: Listing | None = None,
) -> SampleView:
    """Everything about one sample; NotFound for an unknown one, and for an attempt or turn that stored no body."""
    wanted = _Wanted(name, sample_id, replica, attempt, turn, listing)
    return await store.read(lambda reads: _sample(reads, wanted))


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    sample_id: str
    replica: int
    attempt: int | None
    turn: int | None
    listing: Listing | None


async def _sample(reads: Reads, wanted: _Wanted) -> SampleView:
    dataset = await dataset_named(reads, wanted.name)
    job = await _job(reads, dataset, wanted)
    taken = await _taken(reads, job)
    answers = tuple(_answer(row, taken) for row in await reads.rows(statements.responses(), {"job": job.id}))
    turns = await read_turns(reads, job, {one.turn: one.id for one in answers if one.id in taken})
    failures = tuple(_failure(row) for row in await reads.rows(statements.failures(), {"job": job.id}))
    shown = _shown(answers, wanted)
    texts = None if shown is None else await _texts(reads, shown)
    around = NOBODY if wanted.listing is None else await neighbours(reads, dataset, wanted.listing, line(job))
    return SampleView(
        line=line(job),
        messages=json.loads(job.messages),
        tools=None if job.tools is None else json.loads(job.tools),
        params=None if job.params is None else json.loads(job.params),
        source_row=job.source_row,
        answers=answers,
        failures=failures,
        attempts=_attempts(answers, failures),
        shown=shown,
        texts=texts,
        reassembly=_reassembly(shown, texts),
        config=job.config,
        seed=job.seed,
        turns=turns,
        turns_asked=job.turns,
        neighbours=around,
    )


def _reassembly(shown: Answer | None, texts: Texts | None) -> Reassembly | None:
    if shown is None or texts is None or shown.reading is None:
        return None
    reading = shown.reading
    return reassemble(texts.raw, Form(shown.form), reading.verdict, reading.parts, texts.reasoning, texts.content)


async def _job(reads: Reads, dataset: DatasetId, wanted: _Wanted) -> Any:
    name, sample_id, replica = wanted.name, wanted.sample_id, wanted.replica
    key = {"dataset": dataset, "sample_id": sample_id, "replica": replica}
    job = None if _unbindable(sample_id) else await reads.first(statements.sample(), key)
    if job is None:
        which = f" (replica {replica})" if replica else ""
        raise NotFound(f"Dataset {name} has no sample {sample_id!r}{which}. `thinkledger samples {name}` lists them.")
    return job


def _unbindable(text: str) -> bool:
    """A lone surrogate, as an argument that is no UTF-8 becomes: no stored id holds one."""
    return any("\ud800" <= character <= "\udfff" for character in text)


async def _taken(reads: Reads, job: Any) -> frozenset[int]:
    """The answers that a conversation goes on from."""
    if job.turns == 1:
        return frozenset()
    rows = await reads.rows(statements.taken(), {"job": job.id, "turn": job.turn})
    return frozenset(row.response_id for row in rows)


def _shown(answers: Sequence[Answer], wanted: _Wanted) -> Answer | None:
    """The newest answer of those asked for; without an attempt one that stands, where there is one."""
    attempt, turn = wanted.attempt, wanted.turn
    of_turn = [answer for answer in answers if turn in (None, answer.turn) and attempt in (None, answer.attempt)]
    standing = [answer for answer in of_turn if answer.standing in ("accepted", "taken")]
    found = of_turn if attempt is not None else standing or of_turn
    if not found and (attempt, turn) != (None, None):
        asked = "" if turn is None else f" at turn {turn}"
        of = "" if attempt is None else f" of attempt {attempt}"
        raise NotFound(f"Sample {wanted.sample_id!r} has no stored body{of}{asked}. {_stored(answers)}")
    return found[-1] if found else None


def _stored(answers: Sequence[Answer]) -> str:
    attempts = sorted({answer.attempt for answer in answers})
    return f"Stored: {', '.join(map(str, attempts))}." if attempts else "None is stored yet."


async def _texts(reads: Reads, shown: Answer) -> Texts:
    seq = None if shown.reading is None else shown.reading.seq
    row = await reads.first(statements.texts(), {"response": shown.id, "seq": seq})
    assert row is not None
    form = row.text_form or "plain"
    return Texts(unpack(row.codec, row.raw), decode_text(form, row.reasoning), decode_text(form, row.content))


def _answer(row: Any, taken: Set[int]) -> Answer:
    return Answer(
        id=ResponseId(row.id), attempt=row.attempt, turn=row.turn, standing=_standing(row, taken),
        worker=row.worker_id, leased_ms=row.leased_ms,
        requested_ms=row.requested_ms, received_ms=row.received_ms, http_status=row.http_status, form=row.form,
        expected=bool(row.expected), profile=row.profile, raw_text_sent=bool(row.raw_text_sent),
        scrubbed=bool(row.scrubbed), request=row.request, request_id=row.request_id, raw_bytes=row.raw_bytes,
        raw_sha256=row.raw_sha256, base_url=row.base_url, model=row.model, fingerprint=row.fingerprint,
        reading=None if row.seq is None else _reading(row),
    )  # fmt: skip


def _standing(row: Any, taken: Set[int]) -> str:
    if row.accepted_seq is not None:
        return "accepted" if row.superseded_seq is None else "superseded"
    if row.id in taken:
        return "taken"
    return "late" if row.late else "kept"


def _reading(row: Any) -> ReadingFacts:
    return ReadingFacts(
        seq=row.seq, parser_version=row.parser_version, verdict=row.verdict, flags=tuple(json.loads(row.flags)),
        loss_flags=tuple(sorted(loaded(row.loss_flags))),
        finish_reason=row.finish_reason, usage=row.usage, tool_calls=row.tool_calls, split=row.parts is not None,
        parts=row.parts, found=row.found,
    )  # fmt: skip


def _failure(row: Any) -> FailedAttempt:
    return FailedAttempt(
        attempt=row.attempt, at_ms=row.at_ms, cause=row.cause, http_status=row.http_status, message=row.message,
        counted=bool(row.counted), body=row.body,
        response=None if row.response_id is None else ResponseId(row.response_id), leased_ms=row.leased_ms,
        worker=row.worker_id,
    )  # fmt: skip


def _attempts(answers: Sequence[Answer], failures: Sequence[FailedAttempt]) -> tuple[Attempt, ...]:
    """All attempts in their order. A failure that stored a whole body is one attempt with it."""
    by_body = {failure.response: failure for failure in failures if failure.response is not None}
    stored = [_stored_attempt(answer, by_body.get(answer.id)) for answer in answers]
    known = {answer.id for answer in answers}
    bare = [_bare_attempt(failure) for failure in failures if failure.response not in known]
    return tuple(sorted((*stored, *bare), key=lambda one: (one.attempt, one.turn, one.ended_ms)))


def _stored_attempt(answer: Answer, failure: FailedAttempt | None) -> Attempt:
    reading = answer.reading
    return Attempt(
        attempt=answer.attempt, turn=answer.turn, leased_ms=answer.leased_ms, sent_ms=answer.requested_ms,
        ended_ms=answer.received_ms, worker=answer.worker, http_status=answer.http_status, response=answer.id,
        standing=answer.standing, verdict=None if reading is None else reading.verdict,
        flags=() if reading is None else reading.flags + reading.loss_flags, body_bytes=answer.raw_bytes,
        cause=None if failure is None else failure.cause, message=None if failure is None else failure.message,
        counted=failure is not None and failure.counted,
    )  # fmt: skip


def _bare_attempt(failure: FailedAttempt) -> Attempt:
    return Attempt(
        attempt=failure.attempt, turn=0, leased_ms=failure.leased_ms, sent_ms=None, ended_ms=failure.at_ms,
        worker=failure.worker, http_status=failure.http_status, response=None, standing=None, verdict=None, flags=(),
        body_bytes=None if failure.body is None else len(failure.body), cause=failure.cause, message=failure.message,
        counted=failure.counted,
    )  # fmt: skip
