"""What removes a dataset: a page of jobs a transaction, each table before those that it points to."""

from functools import cache
from typing import Any

from sqlalchemy import (
    Delete,
    Integer,
    Select,
    bindparam,
    delete,
    exists,
    func,
    literal_column,
    select,
)

from app.store.batch import batch_rows
from app.store.tables import (
    ALARM,
    BODY,
    BUCKET,
    COUNTER,
    DATASET,
    EVENT,
    FAILURE,
    FAILURE_GROUP,
    GATE_WINDOW,
    HOLD,
    JOB,
    LATENCY,
    READING,
    REASONING_LENGTH,
    RESPONSE,
    SAMPLE,
    SOURCE,
    TOKEN_IDS,
    TRIAGE,
    TURN,
    UNREAD,
)


@cache
def newest_answer() -> Select[Any]:
    """When the newest answer of a dataset was accepted and came; null where it has none."""
    newest = (func.max(RESPONSE.c.accepted_seq).label("seq"), func.max(RESPONSE.c.received_ms).label("at_ms"))
    return (
        select(*newest)
        .join_from(JOB, RESPONSE, RESPONSE.c.job_id == JOB.c.id)
        .where(JOB.c.dataset_id == bindparam("dataset", type_=Integer), JOB.c.ordinal > 0)
    )


@cache
def copies_since() -> Select[Any]:
    """What was noted down since a moment about copies of a dataset, or of the whole store."""
    return select(EVENT.c.kind, EVENT.c.detail).where(
        EVENT.c.at_ms >= bindparam("since_ms", type_=Integer),
        EVENT.c.kind.in_(bindparam("kinds", expanding=True)),
        func.coalesce(EVENT.c.dataset_id, bindparam("dataset", type_=Integer)) == bindparam("dataset", type_=Integer),
    )


@cache
def leases_of() -> Select[Any]:
    """How many jobs of a dataset are leased."""
    return select(func.count()).where(
        JOB.c.state == literal_column("'leased'"), JOB.c.dataset_id == bindparam("dataset", type_=Integer)
    )


@cache
def last_jobs() -> Select[Any]:
    """The jobs of the last samples of a dataset in the order of import, with all their replicas.

    From the end, and whole samples: so the order of import and the counters agree after each page.
    """
    dataset = bindparam("dataset", type_=Integer)
    every = JOB.alias("every")
    last = select(func.max(every.c.ordinal)).where(every.c.dataset_id == dataset).scalar_subquery()
    return select(JOB.c.id, JOB.c.sample_ref).where(
        JOB.c.dataset_id == dataset, JOB.c.ordinal > last - bindparam("samples_a_page", type_=Integer)
    )


def _of_jobs() -> Select[Any]:
    jobs = batch_rows("jobs", job=int)
    return select(jobs.c.job)


def _of_responses() -> Select[Any]:
    return select(RESPONSE.c.id).where(RESPONSE.c.job_id.in_(_of_jobs()))


@cache
def delete_token_ids() -> Delete:
    """The token ids of the answers of some jobs."""
    return delete(TOKEN_IDS).where(TOKEN_IDS.c.response_id.in_(_of_responses()))


@cache
def delete_readings() -> Delete:
    """The readings of their answers."""
    return delete(READING).where(READING.c.response_id.in_(_of_responses()))


@cache
def delete_unread() -> Delete:
    """The marks of their answers that nobody has read."""
    return delete(UNREAD).where(UNREAD.c.job_id.in_(_of_jobs()))


@cache
def delete_turns() -> Delete:
    """From which answers their conversations went on."""
    return delete(TURN).where(TURN.c.job_id.in_(_of_jobs()))


@cache
def delete_failures() -> Delete:
    """Their failed attempts."""
    return delete(FAILURE).where(FAILURE.c.job_id.in_(_of_jobs()))


@cache
def delete_bodies() -> Delete:
    """The bytes of their answers."""
    return delete(BODY).where(BODY.c.response_id.in_(_of_responses()))


@cache
def delete_responses() -> Delete:
    """Their answers."""
    return delete(RESPONSE).where(RESPONSE.c.job_id.in_(_of_jobs()))


@cache
def delete_jobs() -> Delete:
    """The jobs themselves."""
    return delete(JOB).where(JOB.c.id.in_(_of_jobs()))


@cache
def delete_samples() -> Delete:
    """The samples that no job asks any more."""
    samples = batch_rows("samples", sample=int)
    used = exists().where(JOB.c.sample_ref == SAMPLE.c.id)
    return delete(SAMPLE).where(SAMPLE.c.id.in_(select(samples.c.sample)), ~used)


def _rest_of(table: Any) -> Delete:
    return delete(table).where(table.c.dataset_id == bindparam("dataset", type_=Integer))


@cache
def delete_sources() -> Delete:
    """The files of a dataset."""
    return _rest_of(SOURCE)


@cache
def delete_windows() -> Delete:
    """What its gates were judged by."""
    return _rest_of(GATE_WINDOW)


@cache
def delete_alarms() -> Delete:
    """Its alarms."""
    return _rest_of(ALARM)


@cache
def delete_holds() -> Delete:
    """Its holds."""
    return _rest_of(HOLD)


@cache
def delete_counters() -> Delete:
    """Its counters, which are all zero by now."""
    return _rest_of(COUNTER)


@cache
def delete_buckets() -> Delete:
    """Its minutes."""
    return _rest_of(BUCKET)


@cache
def delete_triage() -> Delete:
    """How its answers ended, which is all zero by now."""
    return _rest_of(TRIAGE)


@cache
def delete_lengths() -> Delete:
    """How long its reasoning was, which is all zero by now."""
    return _rest_of(REASONING_LENGTH)


@cache
def delete_latencies() -> Delete:
    """How long its answers took, which is all zero by now."""
    return _rest_of(LATENCY)


@cache
def delete_failure_groups() -> Delete:
    """What went wrong in it."""
    return _rest_of(FAILURE_GROUP)


@cache
def delete_dataset() -> Delete:
    """The dataset."""
    return delete(DATASET).where(DATASET.c.id == bindparam("dataset", type_=Integer))
