"""What conversations ask and tell the store. Jobs of one turn never come here."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Update, and_, bindparam, case, func, null, select, update
from sqlalchemy.dialects.sqlite import Insert, insert
from sqlalchemy.sql.dml import ReturningUpdate

from app.model.states import MOVES, Event, JobState
from app.store.batch import batch_rows
from app.store.beside import on_servers
from app.store.guards import may
from app.store.tables import BODY, JOB, META, READING, RESPONSE, TURN


def _newest() -> Any:
    return (
        select(func.max(READING.c.seq))
        .where(READING.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )


def _stands() -> Any:
    return and_(RESPONSE.c.accepted_seq.is_not(None), RESPONSE.c.superseded_seq.is_(None))


@cache
def histories() -> Select[Any]:
    """The answers that the jobs of the batch have before a turn, with what goes into the history of each."""
    wanted = batch_rows("wanted", job=int, turn=int)
    return (
        select(
            TURN.c.job_id, TURN.c.turn, RESPONSE.c.form, BODY.c.codec,
            case((READING.c.tool_calls.is_(None), null()), else_=BODY.c.raw).label("raw"),
            READING.c.text_form, READING.c.reasoning, READING.c.content, READING.c.tool_calls,
        )
        .select_from(wanted)
        .join(TURN, and_(TURN.c.job_id == wanted.c.job, TURN.c.turn < wanted.c.turn))
        .join(RESPONSE, RESPONSE.c.id == TURN.c.response_id)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest()))
        .order_by(TURN.c.job_id, TURN.c.turn)
    )  # fmt: skip


@cache
def every_reading() -> Select[Any]:
    """Every reading of the answers that the jobs of the batch have before a turn, and how each was asked."""
    wanted = batch_rows("wanted", job=int, turn=int)
    return (
        select(
            TURN.c.job_id, TURN.c.turn, RESPONSE.c.request, RESPONSE.c.request_sha256, RESPONSE.c.form,
            BODY.c.codec, case((READING.c.tool_calls.is_(None), null()), else_=BODY.c.raw).label("raw"),
            READING.c.seq, READING.c.text_form, READING.c.reasoning, READING.c.content, READING.c.tool_calls,
        )
        .select_from(wanted)
        .join(TURN, and_(TURN.c.job_id == wanted.c.job, TURN.c.turn < wanted.c.turn))
        .join(RESPONSE, RESPONSE.c.id == TURN.c.response_id)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(READING, READING.c.response_id == RESPONSE.c.id)
        .order_by(TURN.c.job_id, TURN.c.turn, READING.c.seq)
    )  # fmt: skip


@cache
def fences() -> Select[Any]:
    """Where the conversations of the batch are, and who holds them."""
    jobs = batch_rows("jobs", job=int)
    found = (
        select(JOB.c.id, JOB.c.state, JOB.c.attempt, JOB.c.turn, JOB.c.lease_worker, META.c.epoch)
        .select_from(jobs)
        .join(JOB, JOB.c.id == jobs.c.job)
        .join(META, META.c.id == 1)
    )
    # Nobody may claim them between this look and what is decided by it.
    locked = select(JOB.c.id).where(JOB.c.id.in_(select(jobs.c.job))).order_by(JOB.c.id)
    return on_servers(found, first=locked.with_for_update(key_share=True))


@cache
def take_turn() -> Insert:
    """A conversation goes on from this answer; from the one that an earlier run of it had there, no longer."""
    row = insert(TURN)
    return row.on_conflict_do_update(index_elements=["job_id", "turn"], set_={"response_id": row.excluded.response_id})


@cache
def go_on() -> ReturningUpdate[Any]:
    """The next turn is asked: by the holder of the lease where it says until when, else by whoever claims the job.

    Tries, expiries and deaths are those of one question, so they begin anew.
    """
    answers = batch_rows("answers", job=int, attempt=int, turn=int, until_ms=int)
    stays = and_(JOB.c.state == JobState.LEASED, answers.c.until_ms.is_not(None))
    return (
        update(JOB)
        .where(
            JOB.c.id == answers.c.job,
            JOB.c.attempt == answers.c.attempt,
            JOB.c.turn == answers.c.turn,
            may(Event.HAND_ON),
        )
        .values(
            turn=answers.c.turn + 1,
            state=case((stays, JobState.LEASED), else_=JobState.READY),
            lease_worker=case((stays, JOB.c.lease_worker), else_=null()),
            lease_deadline_ms=case((stays, answers.c.until_ms), else_=null()),
            leased_ms=case((stays, bindparam("now_ms", type_=Integer)), else_=JOB.c.leased_ms),
            due_ms=null(),
            cause=null(),
            tries=0,
            expiries=0,
            deaths=0,
        )
        .returning(JOB.c.id)
    )


def _whole(ends: Any) -> Any:
    """The answers of a conversation up to its last turn."""
    return select(TURN.c.response_id).join(ends, ends.c.job == TURN.c.job_id).where(TURN.c.turn <= ends.c.turn)


@cache
def supersede_replaced() -> Update:
    """What these conversations had accepted before and do not go on from stands no longer."""
    ends = batch_rows("ends", job=int, turn=int)
    return (
        update(RESPONSE)
        .where(RESPONSE.c.job_id.in_(select(ends.c.job)), _stands(), RESPONSE.c.id.not_in(_whole(ends)))
        .values(superseded_seq=bindparam("at_seq", type_=Integer))
    )


@cache
def accept_whole() -> Update:
    """Every answer of these conversations is accepted, all in one transaction."""
    ends = batch_rows("ends", job=int, turn=int)
    return (
        update(RESPONSE)
        .where(RESPONSE.c.id.in_(_whole(ends)), RESPONSE.c.accepted_seq.is_(None))
        .values(accepted_seq=bindparam("at_seq", type_=Integer))
    )


@cache
def standing_facts() -> Select[Any]:
    """What a job copies of each accepted answer of the conversations in the batch, in the order of turns."""
    jobs = batch_rows("jobs", job=int)
    return (
        select(
            RESPONSE.c.job_id, RESPONSE.c.turn, RESPONSE.c.id, RESPONSE.c.expected,
            (RESPONSE.c.received_ms - RESPONSE.c.requested_ms).label("latency_ms"),
            READING.c.verdict, READING.c.finish_reason, READING.c.found, READING.c.reasoning_chars,
            READING.c.content_chars, READING.c.completion_tokens, READING.c.preview, READING.c.loss_flags,
        )
        .select_from(jobs)
        .join(RESPONSE, and_(RESPONSE.c.job_id == jobs.c.job, _stands()))
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest()))
        .order_by(RESPONSE.c.job_id, RESPONSE.c.turn)
    )  # fmt: skip


@cache
def set_turn() -> Update:
    """How many answers these conversations have."""
    ends = batch_rows("ends", job=int, turn=int)
    return update(JOB).where(JOB.c.id == ends.c.job).values(turn=ends.c.turn)


@cache
def came_then() -> Update:
    """These conversations were finished by answers that had come before."""
    ends = batch_rows("ends", job=int, received_ms=int, imported=int)
    came = {"finished_ms": ends.c.received_ms, "imported": ends.c.imported}
    return update(JOB).where(JOB.c.id == ends.c.job, JOB.c.state == JobState.DONE).values(came)


@cache
def reopen() -> Update:
    """Conversations that are done at these turns, before the last one of their script, are asked on from there."""
    places = batch_rows("places", job=int, turn=int)
    return (
        update(JOB)
        .where(
            JOB.c.id == places.c.job,
            JOB.c.turn == places.c.turn,
            JOB.c.turn < JOB.c.turns,
            JOB.c.state == JobState.DONE,
        )
        .values(state=MOVES[JobState.DONE, Event.RETRY], tries=0, expiries=0, deaths=0, cause=null())
    )


@cache
def copy_whole() -> Update:
    """The facts of conversations whose answers are read anew."""
    facts = batch_rows(
        "facts", job=int, verdict=str, expected=int, finish_reason=str, found=str, reasoning_chars=int,
        content_chars=int, completion_tokens=int, latency_ms=int, preview=str, loss_flags=str,
    )  # fmt: skip
    copied = {column.name: column for column in facts.c if column.name != "job"}
    return update(JOB).where(JOB.c.id == facts.c.job).values(copied)
