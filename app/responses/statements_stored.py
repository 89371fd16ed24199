"""Every statement about bodies that are here already: read anew, imported or found in a spool."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Update, and_, bindparam, exists, func, null, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from app.model.states import Event, JobState, sources
from app.store.batch import batch_rows
from app.store.tables import BODY, JOB, READING, RESPONSE, SAMPLE, TOKEN_IDS, TURN, UNREAD


@cache
def last_ordinal() -> Select[Any]:
    """The place of a dataset's last job; null without jobs."""
    return select(func.max(JOB.c.ordinal)).where(JOB.c.dataset_id == bindparam("dataset", type_=Integer))


@cache
def readable_bodies() -> Select[Any]:
    """The bodies of the jobs in (after, until] of the order of import, those left out that wait for their reading."""
    waits = exists().where(UNREAD.c.response_id == RESPONSE.c.id)
    return (
        select(RESPONSE.c.id, RESPONSE.c.job_id, RESPONSE.c.raw_bytes, JOB.c.ordinal)
        .join(RESPONSE, RESPONSE.c.job_id == JOB.c.id)
        .where(
            JOB.c.dataset_id == bindparam("dataset", type_=Integer),
            JOB.c.ordinal > bindparam("after", type_=Integer),
            JOB.c.ordinal <= bindparam("until", type_=Integer),
            ~waits,
        )
        .order_by(JOB.c.ordinal, JOB.c.replica, RESPONSE.c.attempt, RESPONSE.c.turn)
    )


def _newest_seq() -> Any:
    return (
        select(func.max(READING.c.seq))
        .where(READING.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )


def _newest_tokens() -> Any:
    return (
        select(func.max(TOKEN_IDS.c.seq))
        .where(TOKEN_IDS.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )


def _stands(response: Any = RESPONSE) -> Any:
    return and_(response.c.accepted_seq.is_not(None), response.c.superseded_seq.is_(None))


@cache
def to_reread() -> Select[Any]:
    """Bodies with all that a reading depends on, their newest reading, and whether their job has an answer."""
    responses = batch_rows("responses", response=int)
    other = RESPONSE.alias("other")
    answered = exists().where(other.c.job_id == RESPONSE.c.job_id, _stands(other))
    goes_on = exists().where(TURN.c.response_id == RESPONSE.c.id, TURN.c.turn < JOB.c.turn)  # of a conversation
    asks_on = and_(JOB.c.state == JobState.LEASED, JOB.c.turn == RESPONSE.c.turn + 1)
    asked_after = or_(asks_on, exists().where(other.c.job_id == RESPONSE.c.job_id, other.c.turn > RESPONSE.c.turn))
    return (
        select(
            RESPONSE.c.id, RESPONSE.c.job_id, RESPONSE.c.attempt, RESPONSE.c.worker_id, RESPONSE.c.http_status,
            RESPONSE.c.form, RESPONSE.c.expected, RESPONSE.c.profile, RESPONSE.c.requested_ms, RESPONSE.c.received_ms,
            RESPONSE.c.request, RESPONSE.c.request_sha256, RESPONSE.c.superseded_seq,
            BODY.c.codec, BODY.c.raw, or_(_stands(), goes_on).label("stands"), answered.label("answered"),
            and_(JOB.c.turns > 1, asked_after).label("asked_after"),
            JOB.c.state, JOB.c.attempt.label("job_attempt"), JOB.c.dataset_id, JOB.c.turns,
            JOB.c.turn.label("at_turn"), RESPONSE.c.turn,
            SAMPLE.c.messages, SAMPLE.c.tools,
            READING.c.seq, READING.c.verdict, READING.c.flags, READING.c.reasoning, READING.c.content,
            READING.c.text_form, READING.c.tool_calls, READING.c.finish_reason, READING.c.usage, READING.c.parts,
            READING.c.choices, READING.c.found, READING.c.loss_flags,
            TOKEN_IDS.c.prompt.label("prompt_ids"), TOKEN_IDS.c.answer.label("answer_ids"),
        )
        .select_from(responses)
        .join(RESPONSE, RESPONSE.c.id == responses.c.response)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == _newest_seq()))
        .outerjoin(TOKEN_IDS, and_(TOKEN_IDS.c.response_id == RESPONSE.c.id, TOKEN_IDS.c.seq == _newest_tokens()))
        .join(JOB, JOB.c.id == RESPONSE.c.job_id)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
    )  # fmt: skip


@cache
def still_newest() -> Select[Any]:
    """Of the readings in the batch, those that nobody has replaced by a newer one."""
    seen = batch_rows("seen", response=int, seq=int)
    newest = select(func.max(READING.c.seq)).where(READING.c.response_id == seen.c.response).correlate(seen)
    return select(seen.c.response).where(newest.scalar_subquery() == seen.c.seq)


_COPIED: dict[str, type[int] | type[str]] = {
    "verdict": str, "finish_reason": str, "found": str, "reasoning_chars": int, "content_chars": int,
    "completion_tokens": int, "preview": str, "loss_flags": str,
}  # fmt: skip


@cache
def copy_facts() -> Update:
    """The facts of new readings to the jobs whose answers they are. An answer superseded meanwhile changes no job."""
    facts = batch_rows("facts", response=int, job=int, **_COPIED)
    still = select(RESPONSE.c.id).where(RESPONSE.c.id == facts.c.response, RESPONSE.c.job_id == JOB.c.id, _stands())
    return (
        update(JOB)
        .where(JOB.c.id == facts.c.job, still.correlate(JOB, facts).exists())
        .values({name: facts.c[name] for name in _COPIED})
    )


def _unanswered() -> tuple[Any, ...]:
    """Jobs that nobody works at and nothing has answered."""
    return (
        JOB.c.state.in_([state for state in sources(Event.ACCEPT) if state is not JobState.LEASED]),
        ~exists().where(RESPONSE.c.job_id == JOB.c.id, _stands()),
        ~exists().where(UNREAD.c.job_id == JOB.c.id),
    )


@cache
def accept_stored() -> ReturningUpdate[Any]:
    """Finish jobs without an answer by bodies that are here already. What a worker is asking for is left to it."""
    about = {"claims": int, "expected": int, "latency_ms": int, "received_ms": int, "imported": int}
    answers = batch_rows("answers", job=int, **about, **_COPIED)
    facts = {name: answers.c[name] for name in (*_COPIED, "expected", "latency_ms", "imported")}
    return (
        update(JOB)
        .where(JOB.c.id == answers.c.job, *_unanswered())
        # Finished when the answer came, not now: what is only read anew must not look like speed.
        .values(
            state=JobState.DONE,
            attempt=JOB.c.attempt + answers.c.claims,
            finished_ms=answers.c.received_ms,
            due_ms=null(),
            cause=null(),
            **facts,
        )
        .returning(JOB.c.id, JOB.c.attempt)
    )


@cache
def count_attempt() -> ReturningUpdate[Any]:
    """An imported result that is no answer was an attempt; its job stays where it is."""
    jobs = batch_rows("jobs", job=int)
    return (
        update(JOB)
        .where(JOB.c.id == jobs.c.job, *_unanswered())
        .values(attempt=JOB.c.attempt + 1)
        .returning(JOB.c.id, JOB.c.attempt)
    )


@cache
def known_bodies() -> Select[Any]:
    """Of these bodies, those that are stored for these turns of jobs already."""
    bodies = batch_rows("bodies", job=int, turn=int, sha256=str)
    stored_already = exists().where(
        RESPONSE.c.job_id == bodies.c.job,
        RESPONSE.c.turn == bodies.c.turn,
        RESPONSE.c.raw_sha256 == bodies.c.sha256,
    )
    return select(bodies.c.job, bodies.c.turn, bodies.c.sha256).where(stored_already)
