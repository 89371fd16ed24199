"""Which alarms somebody elsewhere still has to be told of, and what came of telling them."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, Update, and_, bindparam, or_, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from app.store.tables import ALARM, DATASET, ENDPOINT

_ALARM = bindparam("alarm", type_=Integer())
_SINCE = bindparam("since", type_=Integer())
_NOW = bindparam("now_ms", type_=Integer())


@cache
def open_alarms() -> Select[Any]:
    """The alarms that nobody has seen to, in the order of their numbers."""
    return (
        select(
            ALARM.c.id, ALARM.c.kind, ALARM.c.holds, ALARM.c.since_ms, ALARM.c.part, ALARM.c.whole, ALARM.c.message,
            ALARM.c.told_since_ms, ALARM.c.tell_due_ms, DATASET.c.name.label("dataset"), ENDPOINT.c.base_url,
        )
        .outerjoin(DATASET, DATASET.c.id == ALARM.c.dataset_id)
        .outerjoin(ENDPOINT, ENDPOINT.c.id == ALARM.c.endpoint_id)
        .where(ALARM.c.state == "open")
        .order_by(ALARM.c.id)
    )  # fmt: skip


@cache
def take() -> ReturningUpdate[Any]:
    """The right to tell one alarm, until `until`: of several processes one gets it.

    A time to try again that is further ahead than any wait (`far`) is of a clock that was set back.
    """
    free = or_(
        ALARM.c.tell_due_ms.is_(None),
        ALARM.c.tell_due_ms <= _NOW,
        ALARM.c.tell_due_ms > bindparam("far", type_=Integer()),
    )
    untold = or_(ALARM.c.told_since_ms.is_(None), ALARM.c.told_since_ms != ALARM.c.since_ms)
    return (
        update(ALARM)
        .where(ALARM.c.id == _ALARM, ALARM.c.state == "open", ALARM.c.since_ms == _SINCE, and_(free, untold))
        .values(tell_due_ms=bindparam("until", type_=Integer()))
        .returning(ALARM.c.tell_tries)
    )


@cache
def told() -> Update:
    """It was told, as it has stood since then; nothing where it has become another one meanwhile."""
    return (
        update(ALARM)
        .where(ALARM.c.id == _ALARM, ALARM.c.since_ms == _SINCE)
        .values(told_since_ms=_SINCE, tell_due_ms=None, tell_tries=0, tell_error=None)
    )


@cache
def not_told() -> Update:
    """It could not be told; when to try again, and why not. Nothing where it has become another one meanwhile."""
    return (
        update(ALARM)
        .where(ALARM.c.id == _ALARM, ALARM.c.since_ms == _SINCE)
        .values(
            tell_due_ms=bindparam("until", type_=Integer()),
            tell_tries=ALARM.c.tell_tries + 1,
            tell_error=bindparam("error", type_=Text()),
        )
    )
