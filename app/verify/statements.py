"""What a verification asks: pages by number, so that no statement walks through a table in one go."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Table, and_, bindparam, case, func, literal_column, select

from app.store.batch import batch_rows
from app.store.tables import (
    BODY,
    BUCKET,
    COUNTER,
    DATASET,
    FAILURE,
    FAILURE_GROUP,
    GATE_WINDOW,
    HOLD,
    JOB,
    LATENCY,
    META,
    READING,
    REASONING_LENGTH,
    RESPONSE,
    SAMPLE,
    TOKEN_IDS,
    TRIAGE,
    TURN,
    UNREAD,
    WORKER,
    WORKER_MINUTE,
)

_AFTER = bindparam("after", type_=Integer())
_UNTIL = bindparam("until", type_=Integer())


@cache
def meta() -> Select[Any]:
    """The row about the store itself."""
    return select(META.c.store_id, META.c.epoch, META.c.seq, META.c.parser_version)


@cache
def datasets() -> Select[Any]:
    """Every dataset."""
    return select(DATASET.c.id, DATASET.c.name)


@cache
def last_job() -> Select[Any]:
    """The number of the newest job."""
    return select(func.max(JOB.c.id))


@cache
def last_response() -> Select[Any]:
    """The number of the newest body."""
    return select(func.max(RESPONSE.c.id))


@cache
def jobs() -> Select[Any]:
    """A page of jobs, with what their sample says of itself, and the state of their holder."""
    return (
        select(
            JOB.c.id, JOB.c.dataset_id, JOB.c.sample_id, JOB.c.ordinal, JOB.c.replica, JOB.c.state, JOB.c.attempt,
            JOB.c.turns, JOB.c.turn,
            JOB.c.cause, JOB.c.finished_ms, JOB.c.verdict, JOB.c.expected, JOB.c.finish_reason, JOB.c.found,
            JOB.c.reasoning_chars,
            JOB.c.content_chars, JOB.c.completion_tokens, JOB.c.latency_ms, JOB.c.preview, JOB.c.imported,
            JOB.c.loss_flags,
            SAMPLE.c.dataset_id.label("sample_dataset"), SAMPLE.c.sample_id.label("sample_name"),
            WORKER.c.id.label("worker"), WORKER.c.state.label("worker_state"),
            select(UNREAD.c.response_id).where(UNREAD.c.job_id == JOB.c.id).exists().label("unread"),
        )
        .outerjoin(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .outerjoin(WORKER, WORKER.c.id == JOB.c.lease_worker)
        .where(JOB.c.id > _AFTER, JOB.c.id <= _UNTIL)
        .order_by(JOB.c.id)
    )  # fmt: skip


def _newest(of: Table = READING) -> Any:
    return select(func.max(of.c.seq)).where(of.c.response_id == RESPONSE.c.id).correlate(RESPONSE).scalar_subquery()


@cache
def answers() -> Select[Any]:
    """The accepted responses of a page of jobs, with the facts of their current readings."""
    return (
        select(
            RESPONSE.c.id, RESPONSE.c.job_id, RESPONSE.c.turn, RESPONSE.c.expected,
            (RESPONSE.c.received_ms - RESPONSE.c.requested_ms).label("latency_ms"),
            READING.c.seq, READING.c.verdict, READING.c.finish_reason, READING.c.found, READING.c.reasoning_chars,
            READING.c.content_chars, READING.c.completion_tokens, READING.c.preview, READING.c.loss_flags,
        )
        .outerjoin(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest()))
        .where(
            RESPONSE.c.job_id > _AFTER,
            RESPONSE.c.job_id <= _UNTIL,
            RESPONSE.c.accepted_seq.is_not(None),
            RESPONSE.c.superseded_seq.is_(None),
        )
        .order_by(RESPONSE.c.job_id, RESPONSE.c.turn)
    )  # fmt: skip


@cache
def scripts() -> Select[Any]:
    """What conversations of a batch ask, and with which tools."""
    wanted = batch_rows("jobs", job=int)
    return (
        select(JOB.c.id, JOB.c.dataset_id, JOB.c.sample_id, JOB.c.turns, JOB.c.turn, SAMPLE.c.messages, SAMPLE.c.tools)
        .select_from(wanted)
        .join(JOB, JOB.c.id == wanted.c.job)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
    )


@cache
def turns() -> Select[Any]:
    """From which answers the conversations of a page of jobs go on, and whether each is one of that job and turn."""
    fits = and_(RESPONSE.c.job_id == TURN.c.job_id, RESPONSE.c.turn == TURN.c.turn)
    return (
        select(TURN.c.job_id, TURN.c.turn, TURN.c.response_id, case((fits, 1), else_=0).label("fits"))
        .join(JOB, JOB.c.id == TURN.c.job_id)
        .join(RESPONSE, RESPONSE.c.id == TURN.c.response_id)
        .where(TURN.c.job_id > _AFTER, TURN.c.job_id <= _UNTIL, TURN.c.turn < JOB.c.turn)
        .order_by(TURN.c.job_id, TURN.c.turn)
    )


@cache
def responses() -> Select[Any]:
    """A page of responses without their bodies, with what their job and their reading must agree with."""
    return (
        select(
            RESPONSE.c.id, RESPONSE.c.attempt, RESPONSE.c.turn, RESPONSE.c.accepted_seq, RESPONSE.c.superseded_seq,
            RESPONSE.c.late, RESPONSE.c.raw_bytes, RESPONSE.c.worker_id, RESPONSE.c.requested_ms,
            RESPONSE.c.received_ms,
            JOB.c.dataset_id, JOB.c.sample_id, JOB.c.attempt.label("job_attempt"),
            READING.c.seq, READING.c.parser_version, UNREAD.c.response_id.label("unread"),
            BODY.c.response_id.label("body"),
        )
        .outerjoin(JOB, JOB.c.id == RESPONSE.c.job_id)
        .outerjoin(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest()))
        .outerjoin(UNREAD, UNREAD.c.response_id == RESPONSE.c.id)
        .outerjoin(BODY, BODY.c.response_id == RESPONSE.c.id)
        .where(RESPONSE.c.id > _AFTER, RESPONSE.c.id <= _UNTIL)
        .order_by(RESPONSE.c.id)
    )  # fmt: skip


@cache
def bodies() -> Select[Any]:
    """Bodies with all that a reading depends on, and their current reading with every column."""
    wanted = batch_rows("wanted", response=int)
    return (
        select(
            RESPONSE.c.http_status, RESPONSE.c.form, RESPONSE.c.expected, RESPONSE.c.profile, BODY.c.codec,
            BODY.c.raw, RESPONSE.c.raw_bytes, RESPONSE.c.raw_sha256, RESPONSE.c.turn, RESPONSE.c.job_id,
            RESPONSE.c.id, JOB.c.dataset_id, JOB.c.sample_id, SAMPLE.c.messages,
            *(column for column in READING.c if column.name != "response_id"),
            TOKEN_IDS.c.prompt.label("prompt_ids"), TOKEN_IDS.c.answer.label("answer_ids"),
        )
        .select_from(wanted)
        .join(RESPONSE, RESPONSE.c.id == wanted.c.response)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(JOB, JOB.c.id == RESPONSE.c.job_id)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .outerjoin(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest()))
        .outerjoin(TOKEN_IDS, and_(TOKEN_IDS.c.response_id == RESPONSE.c.id, TOKEN_IDS.c.seq == _newest(TOKEN_IDS)))
    )  # fmt: skip


@cache
def last_failure() -> Select[Any]:
    """The number of the newest failed attempt."""
    return select(func.max(FAILURE.c.id))


@cache
def failures() -> Select[Any]:
    """A page of failed attempts: who made them, when, and how they are grouped."""
    return select(FAILURE.c.worker_id, FAILURE.c.at_ms, FAILURE.c.group_id).where(
        FAILURE.c.id > _AFTER, FAILURE.c.id <= _UNTIL
    )


def _of_every(table: Any, key: Any) -> Any:
    """Rows of a table whose key begins with a dataset or a worker, found by it."""
    return key.in_(select(table.c.id))


@cache
def cells() -> Select[Any]:
    """Every cell of every triage matrix."""
    listed = select(TRIAGE.c.dataset_id, TRIAGE.c.finish_reason, TRIAGE.c.found, TRIAGE.c.n)
    return listed.where(_of_every(DATASET, TRIAGE.c.dataset_id))


@cache
def lengths() -> Select[Any]:
    """Every bin of every histogram."""
    listed = select(REASONING_LENGTH.c.dataset_id, REASONING_LENGTH.c.least, REASONING_LENGTH.c.n)
    return listed.where(_of_every(DATASET, REASONING_LENGTH.c.dataset_id))


@cache
def latencies() -> Select[Any]:
    """Every bin of how long answers took."""
    listed = select(LATENCY.c.dataset_id, LATENCY.c.least_ms, LATENCY.c.n, LATENCY.c.sum_ms)
    return listed.where(_of_every(DATASET, LATENCY.c.dataset_id))


@cache
def groups() -> Select[Any]:
    """Every group of failed attempts."""
    named = (FAILURE_GROUP.c.id, FAILURE_GROUP.c.dataset_id, FAILURE_GROUP.c.cause, FAILURE_GROUP.c.message)
    return select(*named, FAILURE_GROUP.c.attempts).where(_of_every(DATASET, FAILURE_GROUP.c.dataset_id))


@cache
def brought() -> Select[Any]:
    """What every worker brought, minute by minute."""
    minutes = (WORKER_MINUTE.c.worker_id, WORKER_MINUTE.c.minute, WORKER_MINUTE.c.bodies, WORKER_MINUTE.c.failed)
    return select(*minutes).where(_of_every(WORKER, WORKER_MINUTE.c.worker_id))


@cache
def counters() -> Select[Any]:
    """Every counter."""
    return select(COUNTER.c.dataset_id, COUNTER.c.metric, COUNTER.c.n)


@cache
def buckets() -> Select[Any]:
    """The minutes of one dataset."""
    return select(
        BUCKET.c.minute, BUCKET.c.done, BUCKET.c.failed, BUCKET.c.graded, BUCKET.c.captured, BUCKET.c.tokens
    ).where(BUCKET.c.dataset_id == bindparam("dataset", type_=Integer()), BUCKET.c.minute >= literal_column("0"))


@cache
def windows() -> Select[Any]:
    """Every window of gates and alarms."""
    return select(
        GATE_WINDOW.c.dataset_id, GATE_WINDOW.c.endpoint_id, GATE_WINDOW.c.first, GATE_WINDOW.c.recent,
        GATE_WINDOW.c.answers, GATE_WINDOW.c.lost,
    )  # fmt: skip


@cache
def holds() -> Select[Any]:
    """Every hold."""
    return select(HOLD.c.dataset_id, HOLD.c.kind, HOLD.c.since_seq)
