"""What the end of an attempt asks and tells the store."""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Insert,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    func,
    insert,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.sql.dml import ReturningInsert

from app.leasing.statements import NO_LEASE, epoch
from app.model.states import JobState
from app.store.tables import (
    DATASET,
    FAILURE,
    FAILURE_GROUP,
    JOB,
    META,
    READING,
    RESPONSE,
)


@cache
def fence_of() -> Select[Any]:
    """What decides about a failed attempt: the job's present holder and counts, and its dataset's limit."""
    return (
        select(JOB.c.state, JOB.c.attempt, JOB.c.lease_worker, JOB.c.tries, DATASET.c.max_attempts, META.c.epoch)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(META, META.c.id == 1)
        .where(JOB.c.id == bindparam("job"))
    )


@cache
def state_of() -> Select[Any]:
    """Where a job is that has come to a turn, as long as no newer attempt at it began."""
    return select(JOB.c.state).where(
        JOB.c.id == bindparam("job"),
        JOB.c.attempt == bindparam("attempt"),
        JOB.c.turn >= bindparam("from_turn", type_=Integer),
    )


@cache
def settle_failure() -> Update:
    """Move the job of a failed attempt; only its holder may."""
    return (
        update(JOB)
        .where(
            JOB.c.id == bindparam("job"),
            JOB.c.attempt == bindparam("held_attempt"),
            JOB.c.lease_worker == bindparam("worker"),
            JOB.c.state == JobState.LEASED,
            bindparam("epoch", type_=Integer) == epoch().scalar_subquery(),
        )
        .values(
            state=bindparam("to_state"),
            due_ms=bindparam("to_due_ms"),
            cause=bindparam("to_cause"),
            tries=JOB.c.tries + bindparam("counted", type_=Integer),
            deaths=JOB.c.deaths + bindparam("died", type_=Integer),
            finished_ms=func.coalesce(bindparam("ended_ms"), JOB.c.finished_ms),
            **NO_LEASE,
        )
    )


@cache
def note_failure() -> Insert:
    """Keep one failed attempt, whatever becomes of its job."""
    return insert(FAILURE)


def _of_group(column: str, kind: type[Integer] | type[Text]) -> ColumnElement[bool]:
    return FAILURE_GROUP.c[column] == bindparam(column, type_=kind())


@cache
def failure_group() -> Select[Any]:
    """The group of failed attempts with the same cause, HTTP status and masked message."""
    return select(FAILURE_GROUP.c.id).where(
        FAILURE_GROUP.c.dataset_id == bindparam("dataset", type_=Integer),
        _of_group("cause", Text),
        _of_group("http_status", Integer),
        _of_group("message", Text),
    )


@cache
def failure_groups() -> Select[Any]:
    """How many groups a dataset has."""
    return (
        select(func.count())
        .select_from(FAILURE_GROUP)
        .where(FAILURE_GROUP.c.dataset_id == bindparam("dataset", type_=Integer))
    )


@cache
def count_failure() -> ReturningInsert[Any]:
    """One more failed attempt of a group."""
    now_ms = bindparam("now_ms", type_=Integer)
    row = upsert(FAILURE_GROUP).values(
        dataset_id=bindparam("dataset"), cause=bindparam("cause"), http_status=bindparam("http_status"),
        message=bindparam("message"), attempts=1, first_ms=now_ms, last_ms=now_ms,
    )  # fmt: skip
    return row.on_conflict_do_update(
        index_elements=["dataset_id", "cause", "http_status", "message"],
        set_={"attempts": FAILURE_GROUP.c.attempts + 1, "last_ms": now_ms},
    ).returning(FAILURE_GROUP.c.id)


@cache
def response_of() -> Select[Any]:
    """The stored body of one attempt."""
    return (
        select(RESPONSE.c.id)
        .where(RESPONSE.c.job_id == bindparam("job"), RESPONSE.c.attempt == bindparam("attempt"))
        .order_by(RESPONSE.c.turn.desc())
        .limit(1)
    )


@cache
def stand_in() -> Select[Any]:
    """The response that can stand in for one that could not be had: what stands, else the newest readable one.

    What stands does so however it is read today: a later reading may find a malformed body where there was an answer.
    """
    newest = (
        select(func.max(READING.c.seq))
        .where(READING.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )
    standing = and_(RESPONSE.c.accepted_seq.is_not(None), RESPONSE.c.superseded_seq.is_(None))
    return (
        select(
            RESPONSE.c.id,
            RESPONSE.c.accepted_seq,
            RESPONSE.c.expected,
            JOB.c.turns,
            (RESPONSE.c.received_ms - RESPONSE.c.requested_ms).label("latency_ms"),
            READING.c.verdict,
            READING.c.finish_reason,
            READING.c.found,
            READING.c.reasoning_chars,
            READING.c.content_chars,
            READING.c.completion_tokens,
            READING.c.preview,
            READING.c.loss_flags,
        )
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == newest))
        .join(JOB, JOB.c.id == RESPONSE.c.job_id)
        .where(
            RESPONSE.c.job_id == bindparam("job"),
            or_(standing, READING.c.verdict != "malformed"),
            RESPONSE.c.superseded_seq.is_(None),
        )
        .order_by(standing.desc(), RESPONSE.c.attempt.desc())
        .limit(1)
    )


@cache
def promote() -> Update:
    """A job that would fail is done by its stand-in."""
    return (
        update(JOB)
        .where(JOB.c.id == bindparam("job"), JOB.c.state == JobState.FAILED)
        .values(
            state=JobState.DONE,
            cause=null(),
            verdict=bindparam("to_verdict"),
            expected=bindparam("to_expected"),
            finish_reason=bindparam("to_finish_reason"),
            found=bindparam("to_found"),
            reasoning_chars=bindparam("to_reasoning_chars"),
            content_chars=bindparam("to_content_chars"),
            completion_tokens=bindparam("to_completion_tokens"),
            latency_ms=bindparam("to_latency_ms"),
            preview=bindparam("to_preview"),
            loss_flags=bindparam("to_loss_flags"),
        )
    )


@cache
def accept_response() -> Update:
    """A stored response becomes the accepted one."""
    return (
        update(RESPONSE)
        .where(RESPONSE.c.id == bindparam("response"), RESPONSE.c.accepted_seq.is_(None))
        .values(accepted_seq=bindparam("at_seq"))
    )
