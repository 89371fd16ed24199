"""Every statement about bodies and their readings on the way of an answer."""

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
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningDelete, ReturningInsert, ReturningUpdate

from app.model.states import Event, JobState
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
