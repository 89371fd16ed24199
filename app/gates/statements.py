"""Every statement about windows and alarms."""

from functools import cache
from typing import Any

from sqlalchemy import (
    Delete,
    Insert,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from app.store.batch import batch_rows
from app.store.tables import ALARM, COUNTER, DATASET, ENDPOINT, EVALUATOR, GATE_WINDOW, JOB, WORKER

_FACTS = ("gate", "first", "recent", "answers", "lost")
_KINDS: Any = bindparam("kinds", expanding=True)
_DATASET = bindparam("dataset", type_=Integer())
_ENDPOINT = bindparam("endpoint", type_=Integer())


@cache
def windows() -> Select[Any]:
    """The windows of the batch's pairs, with what they are judged by; null facts where a window has not begun."""
    pairs = batch_rows("pairs", dataset=int, endpoint=int)
    return (
        select(
            pairs.c.dataset,
            pairs.c.endpoint,
            DATASET.c.name,
            DATASET.c.config,
            ENDPOINT.c.base_url,
            *(GATE_WINDOW.c[fact] for fact in _FACTS),
        )
        .select_from(pairs)
        .join(DATASET, DATASET.c.id == pairs.c.dataset)
        .join(ENDPOINT, ENDPOINT.c.id == pairs.c.endpoint)
        .outerjoin(
            GATE_WINDOW,
            and_(GATE_WINDOW.c.dataset_id == pairs.c.dataset, GATE_WINDOW.c.endpoint_id == pairs.c.endpoint),
        )
    )


@cache
def keep_windows() -> Insert:
    """The windows of the batch as they are now."""
    rows = batch_rows(
        "kept", dataset=int, endpoint=int, since_ms=int, gate=str, first=str, recent=str, answers=int, lost=int
    )
    given = select(rows).where(true())  # without a WHERE, SQLite takes the ON of ON CONFLICT for that of a join
    kept = insert(GATE_WINDOW).from_select(["dataset_id", "endpoint_id", "since_ms", *_FACTS], given)
    return kept.on_conflict_do_update(
        index_elements=["dataset_id", "endpoint_id"], set_={fact: kept.excluded[fact] for fact in _FACTS}
    )


@cache
def all_windows() -> Select[Any]:
    """Every window, with what it is judged by."""
    return (
        select(DATASET.c.id.label("dataset"), DATASET.c.name, DATASET.c.config)
        .add_columns(*(GATE_WINDOW.c[fact] for fact in _FACTS))
        .select_from(GATE_WINDOW)
        .join(DATASET, DATASET.c.id == GATE_WINDOW.c.dataset_id)
        .order_by(GATE_WINDOW.c.dataset_id, GATE_WINDOW.c.endpoint_id)
    )


@cache
def forget_windows() -> Delete:
    """The windows of a dataset begin anew."""
    return delete(GATE_WINDOW).where(GATE_WINDOW.c.dataset_id == _DATASET)


@cache
def raise_alarm() -> Insert:
    """Open an alarm, or give the one that stands newer numbers. A warning never takes the place of what holds.

    One that was acknowledged stays so, unless it begins to hold.
    """
    row = insert(ALARM)
    new = row.excluded
    was_cleared = or_(ALARM.c.state == "cleared", and_(ALARM.c.holds == 0, new.holds == 1))  # worse is new as well
    changed = {
        name: new[name] for name in ("last_ms", "part", "whole", "message", "holds", "dataset_id", "endpoint_id")
    }
    reopened = {
        "state": case((was_cleared, "open"), else_=ALARM.c.state),
        "since_ms": case((was_cleared, new.since_ms), else_=ALARM.c.since_ms),
    }
    return row.on_conflict_do_update(
        index_elements=["kind", "subject"],
        set_=changed | reopened,
        where=or_(was_cleared, ALARM.c.holds == 0, new.holds == 1),
    )


@cache
def end_warnings() -> Update:
    """What the window of one server no longer says."""
    return (
        update(ALARM)
        .where(
            ALARM.c.dataset_id == _DATASET,
            ALARM.c.endpoint_id == _ENDPOINT,
            ALARM.c.kind.in_(_KINDS),
            ALARM.c.holds == 0,
            ALARM.c.state != "cleared",
        )
        .values(state="cleared", last_ms=bindparam("now_ms", type_=Integer()))
    )


@cache
def end_of_dataset() -> Update:
    """A dataset's alarms of the given kinds end, what holds too: a person took the holds back."""
    return (
        update(ALARM)
        .where(ALARM.c.dataset_id == _DATASET, ALARM.c.kind.in_(_KINDS), ALARM.c.state != "cleared")
        .values(state="cleared", last_ms=bindparam("now_ms", type_=Integer()))
    )


@cache
def end_of_endpoint() -> Update:
    """The alarms of the given kinds about a server itself end."""
    return (
        update(ALARM)
        .where(
            ALARM.c.endpoint_id == _ENDPOINT,
            ALARM.c.dataset_id.is_(None),
            ALARM.c.kind.in_(_KINDS),
            ALARM.c.state != "cleared",
        )
        .values(state="cleared", last_ms=bindparam("now_ms", type_=Integer()))
    )


@cache
def acknowledge() -> ReturningUpdate[Any]:
    """A person has seen an open alarm."""
    return (
        update(ALARM)
        .where(ALARM.c.id == bindparam("alarm", type_=Integer()), ALARM.c.state == "open")
        .values(state="acknowledged")
        .returning(ALARM.c.kind, ALARM.c.dataset_id)
    )


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
def flagged() -> Select[Any]:
    """The datasets with answers that a loss flag is on: how many they are, and how many answers there are."""
    part, whole = COUNTER, COUNTER.alias("whole")
    return (
        select(DATASET.c.id, DATASET.c.name, part.c.n.label("part"), whole.c.n.label("whole"))
        .join(part, and_(part.c.dataset_id == DATASET.c.id, part.c.metric == bindparam("metric", type_=Text())))
        .join(whole, and_(whole.c.dataset_id == DATASET.c.id, whole.c.metric == "state:done"))
        .order_by(DATASET.c.id)
    )


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
