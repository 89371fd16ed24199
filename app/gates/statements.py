"""Every statement about windows and alarms."""

from functools import cache
from typing import Any

from sqlalchemy import (
    Delete,
    Insert,
    Integer,
    Select,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    null,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import ReturningUpdate

from app.model.states import OPEN
from app.store.batch import batch_rows
from app.store.beside import on_servers, only_one_at
from app.store.tables import ALARM, COUNTER, DATASET, ENDPOINT, GATE_WINDOW

_FACTS = ("gate", "first", "recent", "answers", "lost")
_KINDS: Any = bindparam("kinds", expanding=True)
_DATASET = bindparam("dataset", type_=Integer())
_ENDPOINT = bindparam("endpoint", type_=Integer())


@cache
def windows() -> Select[Any]:
    """The windows of the batch's pairs, with what they are judged by; null facts where a window has not begun."""
    pairs = batch_rows("pairs", dataset=int, endpoint=int)
    found = (
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
    # A window is read, judged and written: by one transaction at a time.
    return on_servers(found, first=only_one_at(pairs, pairs.c.dataset, pairs.c.endpoint))


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
def ended_windows() -> Select[Any]:
    """Every window of a dataset without an open job, with what it is judged by."""
    of_open = COUNTER.c.metric.in_([f"state:{state}" for state in OPEN])
    return (
        select(DATASET.c.id.label("dataset"), DATASET.c.name, DATASET.c.config)
        .add_columns(*(GATE_WINDOW.c[fact] for fact in _FACTS))
        .select_from(GATE_WINDOW)
        .join(DATASET, DATASET.c.id == GATE_WINDOW.c.dataset_id)
        .where(~exists().where(COUNTER.c.dataset_id == DATASET.c.id, of_open, COUNTER.c.n > 0))
        .order_by(GATE_WINDOW.c.dataset_id, GATE_WINDOW.c.endpoint_id)
    )


@cache
def forget_windows() -> Delete:
    """The windows of a dataset begin anew."""
    return delete(GATE_WINDOW).where(GATE_WINDOW.c.dataset_id == _DATASET)


@cache
def raise_alarm() -> Insert:
    """Open an alarm, or give the one that stands newer numbers. A warning never takes the place of what holds.

    One that was acknowledged stays so, unless it begins to hold. One that is another by now is told anew, at once:
    the waits and failures of the earlier one are not its own.
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
        "tell_due_ms": case((was_cleared, null()), else_=ALARM.c.tell_due_ms),
        "tell_tries": case((was_cleared, 0), else_=ALARM.c.tell_tries),
        "tell_error": case((was_cleared, null()), else_=ALARM.c.tell_error),
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
