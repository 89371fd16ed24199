"""What the pages of workers, alerts and the foot of every page ask."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func, literal_column, or_, select, text

from app.store.tables import (
    ALARM,
    DATASET,
    ENDPOINT,
    EVALUATOR,
    JOB,
    META,
    WORKER,
    WORKER_MINUTE,
)

_LIMIT = bindparam("limit", type_=Integer())
_OPEN = WORKER.c.state.in_([literal_column("'live'"), literal_column("'draining'")])
_WORKER = (
    WORKER.c.id, WORKER.c.uuid, WORKER.c.name, WORKER.c.host, WORKER.c.pid, WORKER.c.version, WORKER.c.slots,
    WORKER.c.state, WORKER.c.started_ms, WORKER.c.heartbeat_ms, WORKER.c.ttl_ms, WORKER.c.stopped_ms,
)  # fmt: skip


@cache
def open_workers() -> Select[Any]:
    """Workers that have neither stopped nor been declared dead."""
    return select(*_WORKER).where(_OPEN).order_by(WORKER.c.id)


@cache
def closed_workers() -> Select[Any]:
    """The others, the latest start first."""
    return select(*_WORKER).where(~_OPEN).order_by(WORKER.c.id.desc()).limit(_LIMIT)


@cache
def worker_minutes() -> Select[Any]:
    """What the workers brought, minute by minute, from `since` on."""
    return select(
        WORKER_MINUTE.c.worker_id, WORKER_MINUTE.c.minute, WORKER_MINUTE.c.bodies, WORKER_MINUTE.c.failed
    ).where(
        WORKER_MINUTE.c.worker_id.in_(select(WORKER.c.id).where(_alive())),  # so that the key serves
        WORKER_MINUTE.c.minute >= bindparam("since", type_=Integer()),
    )


def _alive() -> Any:
    """Workers that can have brought something since then."""
    return or_(_OPEN, WORKER.c.stopped_ms >= bindparam("since_ms", type_=Integer()))


@cache
def leases() -> Select[Any]:
    """How many jobs each worker holds, and since when the oldest: only rows that are leased are read."""
    return (
        select(JOB.c.lease_worker, func.count().label("n"), func.min(JOB.c.leased_ms).label("oldest_ms"))
        .where(JOB.c.state == text("'leased'"))
        .group_by(JOB.c.lease_worker)
    )


@cache
def oldest_leases() -> Select[Any]:
    """The jobs that have been held longest."""
    leased = (
        select(
            JOB.c.id, JOB.c.dataset_id, JOB.c.sample_id, JOB.c.replica, JOB.c.attempt, JOB.c.lease_worker,
            JOB.c.leased_ms, JOB.c.lease_deadline_ms,
        )
        .where(JOB.c.state == text("'leased'"))
        .order_by(JOB.c.leased_ms, JOB.c.id)
        .limit(_LIMIT)
        .subquery("leased")
    )  # fmt: skip
    return (
        select(leased, DATASET.c.name.label("dataset"), WORKER.c.name.label("worker"))
        .join(DATASET, DATASET.c.id == leased.c.dataset_id)
        .join(WORKER, WORKER.c.id == leased.c.lease_worker)
        .order_by(leased.c.leased_ms, leased.c.id)
    )


@cache
def endpoints() -> Select[Any]:
    """The identities of servers, the latest seen first."""
    return (
        select(
            ENDPOINT.c.id, ENDPOINT.c.base_url, ENDPOINT.c.model, ENDPOINT.c.fingerprint, ENDPOINT.c.first_seen_ms,
            ENDPOINT.c.last_seen_ms,
        )
        .order_by(ENDPOINT.c.last_seen_ms.desc(), ENDPOINT.c.id.desc())
        .limit(_LIMIT)
    )  # fmt: skip


@cache
def alarms() -> Select[Any]:
    """Alarms: those that hold a dataset first, then the oldest; those that are over last, the latest first."""
    over = ALARM.c.state == text("'cleared'")
    return (
        select(
            ALARM.c.id, ALARM.c.kind, ALARM.c.state, ALARM.c.holds, ALARM.c.since_ms, ALARM.c.last_ms, ALARM.c.part,
            ALARM.c.whole, ALARM.c.message, DATASET.c.name.label("dataset"), ENDPOINT.c.base_url,
        )
        .outerjoin(DATASET, DATASET.c.id == ALARM.c.dataset_id)
        .outerjoin(ENDPOINT, ENDPOINT.c.id == ALARM.c.endpoint_id)
        .order_by(over, ALARM.c.holds.desc(), ALARM.c.since_ms, ALARM.c.id)
    )  # fmt: skip


@cache
def evaluator() -> Select[Any]:
    """Who looked after the alarms last."""
    return select(EVALUATOR.c.holder, EVALUATOR.c.evaluated_ms)


@cache
def store_facts() -> Select[Any]:
    """What the store says of itself."""
    return select(META.c.seq, META.c.parser_version, META.c.backup_ms)
