"""What the page of a dataset asks: sums that were kept when things happened, and a bounded number of rows."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func, literal_column, or_, select

from app.store.tables import (
    BUCKET,
    DATASET,
    EVENT,
    FAILURE,
    FAILURE_GROUP,
    JOB,
    REASONING_LENGTH,
    TRIAGE,
    WORKER,
)

_DATASET = bindparam("dataset", type_=Integer())

# Event lines of a chart. Literals, so that the plan does not depend on a list of parameters.
_MOMENTS: list[Any] = [
    literal_column(f"'{kind}'")
    for kind in (
        "worker_started", "worker_stopped", "worker_dead", "held", "resumed", "gate_passed", "server_changed",
        "endpoint_seen", "parser", "reparsed", "retried", "settings_changed",
    )
]  # fmt: skip


@cache
def settings() -> Select[Any]:
    """The settings of a dataset."""
    return select(DATASET.c.config, DATASET.c.max_attempts).where(DATASET.c.id == _DATASET)


@cache
def steps() -> Select[Any]:
    """What a dataset finished in each step of so many minutes, from the minute `since` on."""
    step: Any = (BUCKET.c.minute // bindparam("minutes", type_=Integer())).label("step")
    sums: list[Any] = [
        func.sum(BUCKET.c[name]).label(name) for name in ("done", "failed", "graded", "captured", "tokens")
    ]
    return (
        select(step, *sums)
        .where(BUCKET.c.dataset_id == _DATASET, BUCKET.c.minute >= bindparam("since", type_=Integer()))
        .group_by(step)
        .order_by(step)
    )


@cache
def first_minute() -> Select[Any]:
    """The minute in which the first job of a dataset was finished; null where none was."""
    return select(func.min(BUCKET.c.minute)).where(BUCKET.c.dataset_id == _DATASET)


@cache
def moments() -> Select[Any]:
    """The latest events that concern a dataset, or all of them, since a time."""
    return (
        select(EVENT.c.at_ms, EVENT.c.kind, EVENT.c.detail, EVENT.c.worker_id, WORKER.c.name.label("worker"))
        .outerjoin(WORKER, WORKER.c.id == EVENT.c.worker_id)
        .where(
            EVENT.c.at_ms >= bindparam("since_ms", type_=Integer()),
            or_(EVENT.c.dataset_id == _DATASET, EVENT.c.dataset_id.is_(None)),
            EVENT.c.kind.in_(_MOMENTS),
        )
        .order_by(EVENT.c.at_ms.desc(), EVENT.c.id.desc())
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def lengths() -> Select[Any]:
    """Done jobs by the bin of their reasoning's length."""
    return select(REASONING_LENGTH.c.least, REASONING_LENGTH.c.n).where(REASONING_LENGTH.c.dataset_id == _DATASET)


@cache
def cells() -> Select[Any]:
    """Done jobs by finish reason and where their reasoning was found; a server that invents reasons is cut off."""
    return (
        select(TRIAGE.c.finish_reason, TRIAGE.c.found, TRIAGE.c.n)
        .where(TRIAGE.c.dataset_id == _DATASET)
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def failure_groups() -> Select[Any]:
    """Every group of failed attempts of a dataset, the latest first; there are at most a few hundred."""
    return (
        select(
            FAILURE_GROUP.c.id, FAILURE_GROUP.c.cause, FAILURE_GROUP.c.http_status, FAILURE_GROUP.c.message,
            FAILURE_GROUP.c.attempts, FAILURE_GROUP.c.first_ms, FAILURE_GROUP.c.last_ms,
        )
        .where(FAILURE_GROUP.c.dataset_id == _DATASET)
        .order_by(FAILURE_GROUP.c.last_ms.desc(), FAILURE_GROUP.c.id.desc())
    )  # fmt: skip


@cache
def failures_since() -> Select[Any]:
    """How many failed attempts of a group there were since a time, counted up to `limit`."""
    lately = (
        select(FAILURE.c.id)
        .where(
            FAILURE.c.group_id == bindparam("group", type_=Integer()),
            FAILURE.c.at_ms >= bindparam("since_ms", type_=Integer()),
        )
        .limit(bindparam("limit", type_=Integer()))
        .subquery("candidates")
    )
    return select(func.count()).select_from(lately)


@cache
def latest_failure() -> Select[Any]:
    """The latest failed attempt of a group."""
    return (
        select(JOB.c.sample_id, JOB.c.replica, FAILURE.c.attempt, FAILURE.c.message)
        .join(JOB, JOB.c.id == FAILURE.c.job_id)
        .where(FAILURE.c.group_id == bindparam("group", type_=Integer()))
        .order_by(FAILURE.c.at_ms.desc(), FAILURE.c.id.desc())
        .limit(1)
    )
