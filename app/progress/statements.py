"""What progress asks the store: counters, buckets and single rows; no statement here walks over all jobs."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, and_, bindparam, func, literal_column, select

from app.store.tables import (
    ALARM,
    BODY,
    BUCKET,
    COUNTER,
    DATASET,
    ENDPOINT,
    EVENT,
    FAILURE,
    HOLD,
    JOB,
    LATENCY,
    META,
    READING,
    RESPONSE,
    SAMPLE,
    TURN,
    WORKER,
)

_DATASET = bindparam("dataset", type_=Integer())
_JOB = bindparam("job", type_=Integer())


@cache
def seq() -> Select[Any]:
    """The number of the newest transaction that changed rows."""
    return select(META.c.seq)


@cache
def datasets() -> Select[Any]:
    """Every dataset with the place of its last job in the order of import, and the replica of that job."""
    last = select(JOB.c.id).where(JOB.c.dataset_id == DATASET.c.id).order_by(JOB.c.ordinal.desc(), JOB.c.replica.desc())
    ordinal = last.with_only_columns(JOB.c.ordinal).limit(1).scalar_subquery()
    replica = last.with_only_columns(JOB.c.replica).limit(1).scalar_subquery()
    return select(
        DATASET.c.id,
        DATASET.c.name,
        func.coalesce(ordinal, 0).label("samples"),
        (func.coalesce(replica, 0) + 1).label("replicas"),
    ).order_by(DATASET.c.rank, DATASET.c.id)


@cache
def counters() -> Select[Any]:
    """Every counter of every dataset."""
    return select(COUNTER.c.dataset_id, COUNTER.c.metric, COUNTER.c.n)


@cache
def minutes() -> Select[Any]:
    """What each dataset finished, minute by minute, from `since` on."""
    return select(BUCKET.c.dataset_id, BUCKET.c.minute, BUCKET.c.done, BUCKET.c.failed, BUCKET.c.tokens).where(
        BUCKET.c.dataset_id.in_(select(DATASET.c.id)),  # so that the key serves: dataset first, then the minute
        BUCKET.c.minute >= bindparam("since", type_=Integer()),
    )


@cache
def latencies() -> Select[Any]:
    """How long the bodies of each dataset took, in bins."""
    return (
        select(LATENCY.c.dataset_id, LATENCY.c.least_ms, LATENCY.c.n, LATENCY.c.sum_ms)
        .where(LATENCY.c.dataset_id.in_(select(DATASET.c.id)), LATENCY.c.n > 0)
        .order_by(LATENCY.c.dataset_id, LATENCY.c.least_ms)
    )


@cache
def answer_bytes() -> Select[Any]:
    """What the latest 200 responses took, on average: the stored body and the texts of a reading."""
    latest = RESPONSE.c.id > select(func.max(RESPONSE.alias("newest").c.id)).scalar_subquery() - 200
    texts = func.coalesce(READING.c.reasoning_chars, 0) + func.coalesce(READING.c.content_chars, 0)
    return (
        select(func.avg(func.length(BODY.c.raw) + texts))
        .join_from(RESPONSE, BODY, BODY.c.response_id == RESPONSE.c.id)
        .outerjoin(READING, READING.c.response_id == RESPONSE.c.id)
        .where(latest)
    )


@cache
def open_jobs() -> Select[Any]:
    """How many jobs will still be asked, if nothing keeps them."""
    still = COUNTER.c.metric.in_([literal_column(f"'state:{state}'") for state in ("ready", "leased", "waiting")])
    return select(func.sum(COUNTER.c.n)).where(still)


@cache
def last_backup() -> Select[Any]:
    """When the newest backup was made, and up to which transaction it goes."""
    return select(META.c.backup_ms, META.c.backup_seq)


@cache
def holds() -> Select[Any]:
    """Every reason that stands not to claim from a dataset."""
    listed = select(HOLD.c.dataset_id, HOLD.c.kind, HOLD.c.reason, HOLD.c.since_ms)
    return listed.order_by(HOLD.c.dataset_id, HOLD.c.kind)


@cache
def alarms() -> Select[Any]:
    """Every alarm that a person has not seen to, those that hold a dataset first."""
    return (
        select(
            ALARM.c.id, ALARM.c.kind, ALARM.c.dataset_id, DATASET.c.name, ALARM.c.state, ALARM.c.holds,
            ALARM.c.since_ms, ALARM.c.last_ms, ALARM.c.part, ALARM.c.whole, ALARM.c.message, ALARM.c.tell_tries,
            ALARM.c.tell_error,
        )
        .outerjoin(DATASET, DATASET.c.id == ALARM.c.dataset_id)
        .where(ALARM.c.state == "open")
        .order_by(ALARM.c.holds.desc(), ALARM.c.since_ms, ALARM.c.id)
    )  # fmt: skip


@cache
def starts() -> Select[Any]:
    """The last start of a worker and the last resume of each dataset, not before `since_ms`."""
    return (
        select(EVENT.c.kind, EVENT.c.dataset_id, func.max(EVENT.c.at_ms).label("at_ms"))
        .where(
            EVENT.c.at_ms >= bindparam("since_ms", type_=Integer()),
            EVENT.c.kind.in_([literal_column("'worker_started'"), literal_column("'resumed'")]),
        )
        .group_by(EVENT.c.kind, EVENT.c.dataset_id)
    )


@cache
def open_workers() -> Select[Any]:
    """Workers that have neither stopped nor been declared dead."""
    return (
        select(
            WORKER.c.id, WORKER.c.uuid, WORKER.c.name, WORKER.c.host, WORKER.c.pid, WORKER.c.slots, WORKER.c.state,
            WORKER.c.started_ms, WORKER.c.heartbeat_ms, WORKER.c.ttl_ms,
        )
        .where(WORKER.c.state.in_([literal_column("'live'"), literal_column("'draining'")]))
        .order_by(WORKER.c.id)
    )  # fmt: skip


@cache
def closed_workers() -> Select[Any]:
    """How many workers stopped, and how many were declared dead."""
    closed = WORKER.c.state.in_([literal_column("'stopped'"), literal_column("'dead'")])
    return select(WORKER.c.state, func.count().label("n")).where(closed).group_by(WORKER.c.state)


@cache
def dataset_named() -> Select[Any]:
    """The dataset of a name."""
    return select(DATASET.c.id).where(DATASET.c.name == bindparam("name", type_=Text()))


@cache
def names() -> Select[Any]:
    """The names of all datasets."""
    return select(DATASET.c.name).order_by(DATASET.c.name)


_LISTED = (
    JOB.c.id, JOB.c.sample_id, JOB.c.ordinal, JOB.c.replica, JOB.c.state, JOB.c.attempt, JOB.c.tries, JOB.c.cause,
    JOB.c.finished_ms, JOB.c.verdict, JOB.c.finish_reason, JOB.c.found, JOB.c.reasoning_chars, JOB.c.content_chars,
    JOB.c.completion_tokens, JOB.c.latency_ms, JOB.c.preview, JOB.c.loss_flags,
)  # fmt: skip


@cache
def sample() -> Select[Any]:
    """One job by its sample's id and replica, with what is asked."""
    return (
        select(
            *_LISTED, JOB.c.turns, JOB.c.turn, JOB.c.seed,
            SAMPLE.c.messages, SAMPLE.c.tools, SAMPLE.c.params, SAMPLE.c.source_row, DATASET.c.config,
        )
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .where(
            JOB.c.dataset_id == _DATASET,
            JOB.c.sample_id == bindparam("sample_id", type_=Text()),
            JOB.c.replica == bindparam("replica", type_=Integer()),
        )
    )  # fmt: skip


@cache
def responses() -> Select[Any]:
    """Every stored body of a job with its newest reading, but without the body and the texts."""
    newest = (
        select(func.max(READING.c.seq))
        .where(READING.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )
    return (
        select(
            RESPONSE.c.id, RESPONSE.c.attempt, RESPONSE.c.turn, RESPONSE.c.accepted_seq, RESPONSE.c.superseded_seq,
            RESPONSE.c.late, RESPONSE.c.worker_id, RESPONSE.c.leased_ms,
            RESPONSE.c.requested_ms, RESPONSE.c.received_ms, RESPONSE.c.http_status,
            RESPONSE.c.content_type, RESPONSE.c.form, RESPONSE.c.expected, RESPONSE.c.profile,
            RESPONSE.c.raw_text_sent, RESPONSE.c.scrubbed, RESPONSE.c.request, RESPONSE.c.request_id,
            RESPONSE.c.raw_bytes, RESPONSE.c.raw_sha256,
            ENDPOINT.c.base_url, ENDPOINT.c.model, ENDPOINT.c.fingerprint,
            READING.c.seq, READING.c.parser_version, READING.c.verdict, READING.c.flags, READING.c.finish_reason,
            READING.c.usage, READING.c.tool_calls, READING.c.parts, READING.c.found,
            READING.c.loss_flags,
        )
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == newest), isouter=True)
        .join(ENDPOINT, ENDPOINT.c.id == RESPONSE.c.endpoint_id, isouter=True)
        .where(RESPONSE.c.job_id == _JOB)
        .order_by(RESPONSE.c.attempt, RESPONSE.c.turn)
    )  # fmt: skip


@cache
def taken() -> Select[Any]:
    """The answers that a conversation goes on from, before a turn."""
    return select(TURN.c.response_id).where(TURN.c.job_id == _JOB, TURN.c.turn < bindparam("turn", type_=Integer()))


@cache
def failures() -> Select[Any]:
    """Every failed attempt of a job."""
    return (
        select(
            FAILURE.c.attempt, FAILURE.c.at_ms, FAILURE.c.cause, FAILURE.c.http_status, FAILURE.c.message,
            FAILURE.c.counted, FAILURE.c.response_id, FAILURE.c.body, FAILURE.c.leased_ms, FAILURE.c.worker_id,
        )
        .where(FAILURE.c.job_id == _JOB)
        .order_by(FAILURE.c.attempt, FAILURE.c.id)
    )  # fmt: skip


@cache
def texts() -> Select[Any]:
    """The body of one response, and the texts of one reading of it; no reading gives nulls."""
    return (
        select(BODY.c.codec, BODY.c.raw, READING.c.text_form, READING.c.reasoning, READING.c.content)
        .join_from(RESPONSE, BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(
            READING,
            and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == bindparam("seq", type_=Integer())),
            isouter=True,
        )
        .where(RESPONSE.c.id == bindparam("response", type_=Integer()))
    )
