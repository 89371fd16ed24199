"""What the alarms that time triggers are decided by, and what workers say of their servers."""

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
    case,
    func,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningInsert

from app.store.tables import (
    ALARM,
    BUCKET,
    COUNTER,
    DATASET,
    ENDPOINT,
    ENDPOINT_HEALTH,
    EVALUATOR,
    EVENT,
    JOB,
    META,
    WORKER,
)

_DATASET = bindparam("dataset", type_=Integer())


@cache
def standing() -> Select[Any]:
    """The alarms of a kind that are not over."""
    return select(ALARM.c.subject, ALARM.c.message, ALARM.c.part, ALARM.c.whole).where(
        ALARM.c.kind == bindparam("of_kind", type_=Text()), ALARM.c.state != "cleared"
    )


@cache
def end_subjects() -> Update:
    """The alarms of a kind about these subjects are over."""
    subjects: Any = bindparam("subjects", expanding=True)
    return (
        update(ALARM)
        .where(
            ALARM.c.kind == bindparam("of_kind", type_=Text()),
            ALARM.c.subject.in_(subjects),
            ALARM.c.state != "cleared",
        )
        .values(state="cleared", last_ms=bindparam("now_ms", type_=Integer()))
    )


@cache
def take_evaluator() -> ReturningInsert[Any]:
    """The lease on looking after the alarms: ours already, run out, or so far ahead that only a clock explains it."""
    now_ms, until_ms = bindparam("now_ms", type_=Integer()), bindparam("until_ms", type_=Integer())
    row = insert(EVALUATOR).values(id=1, holder=bindparam("holder"), until_ms=until_ms, evaluated_ms=now_ms)
    free = or_(
        EVALUATOR.c.holder == row.excluded.holder,
        EVALUATOR.c.until_ms <= now_ms,
        EVALUATOR.c.until_ms > now_ms + bindparam("far_ms", type_=Integer()),
    )
    return row.on_conflict_do_update(
        index_elements=["id"],
        set_={name: row.excluded[name] for name in ("holder", "until_ms", "evaluated_ms")},
        where=free,
    ).returning(EVALUATOR.c.id)


@cache
def silences() -> Select[Any]:
    """Of each dataset: its leases, when the oldest was taken, and when a job of it was finished last."""
    of_dataset = JOB.c.dataset_id == DATASET.c.id
    leased = and_(of_dataset, JOB.c.state == text("'leased'"))
    last = (
        select(JOB.c.finished_ms)
        .where(of_dataset, JOB.c.finished_ms.is_not(None))
        .order_by(JOB.c.finished_ms.desc())
        .limit(1)
        .scalar_subquery()
    )
    return select(
        DATASET.c.id,
        select(func.count()).select_from(JOB).where(leased).scalar_subquery().label("leases"),
        select(func.min(JOB.c.leased_ms)).where(leased).scalar_subquery().label("oldest_ms"),
        last.label("finished_ms"),
    )


@cache
def latencies() -> Select[Any]:
    """How long the latest answers of a dataset took."""
    return (
        select(JOB.c.latency_ms)
        .where(JOB.c.dataset_id == _DATASET, JOB.c.finished_ms.is_not(None))
        .order_by(JOB.c.finished_ms.desc())
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def dataset_names() -> Select[Any]:
    """The name of every dataset."""
    return select(DATASET.c.id, DATASET.c.name)


@cache
def dead_workers() -> Select[Any]:
    """Workers that were declared dead since a time, and in whose place none was started on their host."""
    later = WORKER.alias("later")
    followed = select(later.c.id).where(later.c.host == WORKER.c.host, later.c.id > WORKER.c.id).exists()
    return (
        select(WORKER.c.id, WORKER.c.name, WORKER.c.host)
        .where(WORKER.c.state == "dead", WORKER.c.stopped_ms >= bindparam("since_ms", type_=Integer()), ~followed)
        .order_by(WORKER.c.id)
    )


@cache
def note_health() -> Insert:
    """A worker's latest word about a server; `since_ms` stays while it says the same in other words."""
    row = insert(ENDPOINT_HEALTH)
    turned = ENDPOINT_HEALTH.c.up != row.excluded.up
    return row.on_conflict_do_update(
        index_elements=["worker_id", "base_url"],
        set_={
            "up": row.excluded.up,
            "reason": row.excluded.reason,
            "since_ms": case((turned, row.excluded.since_ms), else_=ENDPOINT_HEALTH.c.since_ms),
        },
    )


@cache
def health() -> Select[Any]:
    """What the open workers say of their servers."""
    is_open = WORKER.c.state.in_([literal_column("'live'"), literal_column("'draining'")])
    return (
        select(
            ENDPOINT_HEALTH.c.worker_id, ENDPOINT_HEALTH.c.base_url, ENDPOINT_HEALTH.c.up, ENDPOINT_HEALTH.c.since_ms,
            ENDPOINT_HEALTH.c.reason, WORKER.c.uuid, WORKER.c.heartbeat_ms, WORKER.c.ttl_ms,
        )
        .join(WORKER, WORKER.c.id == ENDPOINT_HEALTH.c.worker_id)
        .where(is_open, ENDPOINT_HEALTH.c.worker_id.in_(select(WORKER.c.id).where(is_open)))  # so that the key serves
    )  # fmt: skip


@cache
def newest_identities() -> Select[Any]:
    """The identities of servers, the one that was seen last first."""
    return select(ENDPOINT.c.id, ENDPOINT.c.base_url, ENDPOINT.c.model).order_by(
        ENDPOINT.c.last_seen_ms.desc(), ENDPOINT.c.id.desc()
    )


@cache
def backup() -> Select[Any]:
    """When the newest backup was finished; null where none was made."""
    return select(META.c.backup_ms)


@cache
def finished_since() -> Select[Any]:
    """How many jobs were answered in the minutes from `since` on, and in which first. Imported answers are no work."""
    return select(func.sum(BUCKET.c.done).label("done"), func.min(BUCKET.c.minute).label("minute")).where(
        BUCKET.c.dataset_id.in_(select(DATASET.c.id)),  # so that the key serves: dataset first, then the minute
        BUCKET.c.minute >= bindparam("since", type_=Integer()),
        BUCKET.c.done > 0,
    )


@cache
def sums() -> Select[Any]:
    """Of each dataset: its jobs by the order of import, and what the counters of states and verdicts come to."""
    last = select(JOB.c.id).where(JOB.c.dataset_id == DATASET.c.id).order_by(JOB.c.ordinal.desc(), JOB.c.replica.desc())
    samples = last.with_only_columns(JOB.c.ordinal).limit(1).scalar_subquery()
    replica = last.with_only_columns(JOB.c.replica).limit(1).scalar_subquery()
    return select(
        DATASET.c.id,
        DATASET.c.name,
        func.coalesce(samples * (replica + 1), 0).label("total"),
        _counted("state:").label("states"),
        (_counted("expected:") + _counted("unexpected:")).label("verdicts"),
        _counted("state:done").label("done"),
    )


def _counted(beginning: str) -> Any:
    """The sum of the counters of a dataset whose names begin so."""
    within = and_(
        COUNTER.c.metric >= literal_column(f"'{beginning}'"), COUNTER.c.metric < literal_column(f"'{beginning}{{'")
    )
    counted = select(func.coalesce(func.sum(COUNTER.c.n), 0)).where(COUNTER.c.dataset_id == DATASET.c.id, within)
    return counted.scalar_subquery()


@cache
def soundness() -> Select[Any]:
    """The latest verifications and sights of damage, the newest first."""
    of_kind = EVENT.c.kind.in_([literal_column("'verified'"), literal_column("'damage_seen'")])
    return (
        select(EVENT.c.kind, EVENT.c.at_ms, EVENT.c.detail)
        .where(of_kind)
        .order_by(EVENT.c.at_ms.desc(), EVENT.c.id.desc())
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def flagged() -> Select[Any]:
    """The datasets with answers that a loss flag is on: how many they are, and how many answers there are."""
    part, whole = COUNTER, COUNTER.alias("whole")
    return (
        select(DATASET.c.id, DATASET.c.name, part.c.n.label("part"), whole.c.n.label("whole"))
        .join(part, and_(part.c.dataset_id == DATASET.c.id, part.c.metric == bindparam("metric", type_=Text())))
        .join(whole, and_(whole.c.dataset_id == DATASET.c.id, whole.c.metric == "state:done"))
        .order_by(DATASET.c.id)
    )
