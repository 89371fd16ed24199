"""Every statement about stored bodies and their readings."""

from functools import cache
from typing import Any

from sqlalchemy import (
    Insert,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningDelete, ReturningInsert, ReturningUpdate

from app.model.states import Event, JobState, sources
from app.store.batch import batch_rows
from app.store.guards import may
from app.store.tables import (
    BODY,
    DATASET,
    ENDPOINT,
    JOB,
    META,
    READING,
    RESPONSE,
    SAMPLE,
    TOKEN_IDS,
    TURN,
    UNREAD,
    WORKER,
)


@cache
def keep_response() -> Insert:
    """Note a response. A second one of the same job, attempt and turn changes nothing."""
    return insert(RESPONSE).on_conflict_do_nothing(index_elements=["job_id", "attempt", "turn"])


@cache
def keep_body() -> Insert:
    """Store the bytes of a response. Those that it has already are never changed."""
    return insert(BODY).on_conflict_do_nothing(index_elements=["response_id"])


@cache
def stored() -> Select[Any]:
    """The responses of the batch's attempts, and whether each has a reading already."""
    kept = batch_rows("kept", job=int, attempt=int, turn=int)
    has_reading = select(READING.c.seq).where(READING.c.response_id == RESPONSE.c.id).exists()
    return (
        select(
            RESPONSE.c.id,
            RESPONSE.c.job_id,
            RESPONSE.c.attempt,
            RESPONSE.c.turn,
            RESPONSE.c.worker_id,
            has_reading.label("was_read"),
        )
        .select_from(kept)
        .join(
            RESPONSE,
            and_(RESPONSE.c.job_id == kept.c.job, RESPONSE.c.attempt == kept.c.attempt, RESPONSE.c.turn == kept.c.turn),
        )
    )


@cache
def await_reading() -> Insert:
    """Note that a stored body is to be read."""
    return insert(UNREAD).on_conflict_do_nothing(index_elements=["response_id"])


@cache
def take_unread() -> ReturningDelete[Any]:
    """Of the batch, the responses that nobody has read yet; they are read by this very transaction."""
    responses = batch_rows("responses", response=int)
    return delete(UNREAD).where(UNREAD.c.response_id.in_(select(responses.c.response))).returning(UNREAD.c.response_id)


@cache
def add_reading() -> Insert:
    """A reading is added, never changed."""
    return insert(READING)


@cache
def add_token_ids() -> Insert:
    """The token ids that a reading sees are added with it, never changed."""
    return insert(TOKEN_IDS)


@cache
def accept() -> ReturningUpdate[Any]:
    """Finish the jobs of the batch. The attempt is the fence: an answer of an older one changes no row."""
    answers = batch_rows(
        "answers",
        job=int, attempt=int, worker=int, verdict=str, expected=int, finish_reason=str, found=str,
        reasoning_chars=int, content_chars=int, completion_tokens=int, latency_ms=int, preview=str, loss_flags=str,
        epoch=int,
    )  # fmt: skip
    return (
        update(JOB)
        .where(
            JOB.c.id == answers.c.job,
            JOB.c.attempt == answers.c.attempt,
            may(Event.ACCEPT),
            answers.c.epoch == select(META.c.epoch).where(META.c.id == 1).scalar_subquery(),
            or_(JOB.c.state != JobState.LEASED, JOB.c.lease_worker == answers.c.worker),
        )
        .values(
            state=JobState.DONE,
            finished_ms=bindparam("now_ms", type_=Integer),
            lease_worker=null(),
            lease_deadline_ms=null(),
            due_ms=null(),
            cause=null(),
            verdict=answers.c.verdict,
            expected=answers.c.expected,
            finish_reason=answers.c.finish_reason,
            found=answers.c.found,
            reasoning_chars=answers.c.reasoning_chars,
            content_chars=answers.c.content_chars,
            completion_tokens=answers.c.completion_tokens,
            latency_ms=answers.c.latency_ms,
            preview=answers.c.preview,
            loss_flags=answers.c.loss_flags,
            imported=0,
        )
        .returning(JOB.c.id, JOB.c.attempt)
    )


@cache
def supersede() -> Update:
    """What these jobs had accepted before stands no longer."""
    jobs = batch_rows("jobs", job=int)
    return (
        update(RESPONSE)
        .where(
            RESPONSE.c.job_id.in_(select(jobs.c.job)),
            RESPONSE.c.accepted_seq.is_not(None),
            RESPONSE.c.superseded_seq.is_(None),
        )
        .values(superseded_seq=bindparam("at_seq", type_=Integer))
    )


@cache
def mark_accepted() -> Update:
    """These responses are the accepted ones of their jobs."""
    responses = batch_rows("responses", response=int)
    return (
        update(RESPONSE)
        .where(RESPONSE.c.id.in_(select(responses.c.response)), RESPONSE.c.accepted_seq.is_(None))
        .values(accepted_seq=bindparam("at_seq", type_=Integer))
    )


@cache
def mark_late() -> Update:
    """These responses came too late to be accepted; they are kept and counted."""
    responses = batch_rows("responses", response=int)
    return update(RESPONSE).where(RESPONSE.c.id.in_(select(responses.c.response)), RESPONSE.c.late == 0).values(late=1)


_TO_READ = (
    RESPONSE.c.id,
    RESPONSE.c.job_id,
    RESPONSE.c.attempt,
    RESPONSE.c.turn,
    RESPONSE.c.worker_id,
    RESPONSE.c.endpoint_id,
    RESPONSE.c.http_status,
    RESPONSE.c.form,
    RESPONSE.c.expected,
    RESPONSE.c.profile,
    RESPONSE.c.requested_ms,
    RESPONSE.c.received_ms,
    BODY.c.codec,
    BODY.c.raw,
    JOB.c.dataset_id,
    JOB.c.tries,
    JOB.c.turns,
    JOB.c.turn.label("at_turn"),
    SAMPLE.c.messages,
)


@cache
def to_read() -> Select[Any]:
    """The stored bodies of the batch with all that a reading depends on."""
    responses = batch_rows("responses", response=int)
    return (
        select(*_TO_READ)
        .select_from(responses)
        .join(RESPONSE, RESPONSE.c.id == responses.c.response)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(JOB, JOB.c.id == RESPONSE.c.job_id)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
    )


@cache
def orphaned() -> Select[Any]:
    """Unread bodies whose worker is gone: declared dead while it stored them, or stopped."""
    return (
        select(UNREAD.c.response_id)
        .join(WORKER, WORKER.c.id == UNREAD.c.worker_id)
        .where(WORKER.c.state.in_(["dead", "stopped"]))
    )


@cache
def store_identity() -> Select[Any]:
    """Which store this is, and how often it was restored."""
    return select(META.c.store_id, META.c.epoch).where(META.c.id == 1)


@cache
def job_named() -> Select[Any]:
    """The job of a sample by the names that outlive a restore, with the hash of what it asks."""
    return (
        select(JOB.c.id, JOB.c.dataset_id, JOB.c.tries, SAMPLE.c.content_sha256)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .where(
            DATASET.c.name == bindparam("dataset", type_=Text()),
            JOB.c.sample_id == bindparam("sample_id", type_=Text()),
            JOB.c.replica == bindparam("replica", type_=Integer),
        )
    )


@cache
def count_found() -> ReturningUpdate[Any]:
    """A spooled answer to an attempt that a restore forgot is a new attempt of a job that nobody works at."""
    idle = [state for state in JobState if state is not JobState.LEASED]
    return (
        update(JOB)
        .where(
            JOB.c.id == bindparam("job", type_=Integer),
            JOB.c.state.in_(idle),
            ~exists().where(UNREAD.c.job_id == JOB.c.id),
        )
        .values(attempt=JOB.c.attempt + 1)
        .returning(JOB.c.attempt)
    )


@cache
def see_endpoint() -> ReturningInsert[Any]:
    """A server identity is seen: a row the first time, a newer `last_seen_ms` after that."""
    return (
        insert(ENDPOINT)
        .on_conflict_do_update(
            index_elements=["base_url", "model", "fingerprint_sha256"],
            set_={"last_seen_ms": bindparam("seen_ms", type_=Integer)},
        )
        .returning(ENDPOINT.c.id, ENDPOINT.c.first_seen_ms)
    )


@cache
def identity_before() -> Select[Any]:
    """What the server at a base URL was seen as last: with this model if it ever was, else with any."""
    return (
        select(ENDPOINT.c.id, ENDPOINT.c.model, ENDPOINT.c.fingerprint)
        .where(ENDPOINT.c.base_url == bindparam("base_url", type_=Text()))
        .order_by(
            (ENDPOINT.c.model == bindparam("model", type_=Text())).desc(),
            ENDPOINT.c.last_seen_ms.desc(),
            ENDPOINT.c.id.desc(),
        )
        .limit(1)
    )


@cache
def parser_version() -> Select[Any]:
    """The newest parser that wrote readings in this store."""
    return select(META.c.parser_version).where(META.c.id == 1)


@cache
def raise_parser_version() -> Update:
    """A newer parser begins to write readings."""
    newer = bindparam("to_version", type_=Integer)
    return update(META).where(META.c.id == 1, META.c.parser_version < newer).values(parser_version=newer)


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
