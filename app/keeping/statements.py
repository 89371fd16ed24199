"""What backup and restore write into a store."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Update, bindparam, func, literal_column, null, select, text, update

from app.model.states import JobState
from app.store.tables import JOB, META, WORKER


@cache
def meta() -> Select[Any]:
    """The row about the store itself."""
    return select(
        META.c.store_id, META.c.epoch, META.c.seq, META.c.backup_ms, META.c.backup_seq, META.c.parser_version,
        META.c.created_ms,
    )  # fmt: skip


@cache
def newest_heartbeat() -> Select[Any]:
    """The newest sign of life of any worker, by the clock of its machine."""
    return select(func.max(WORKER.c.heartbeat_ms))


@cache
def beating_workers() -> Select[Any]:
    """How many workers that have not stopped gave a sign of life within their own time."""
    return select(func.count()).where(
        WORKER.c.state.in_([literal_column("'live'"), literal_column("'draining'")]),
        WORKER.c.heartbeat_ms + WORKER.c.ttl_ms > bindparam("at_ms", type_=Integer),
    )


@cache
def note_backup() -> Update:
    """When the newest backup was made, and up to where it goes."""
    return (
        update(META)
        .where(META.c.id == 1)
        .values(
            backup_ms=bindparam("at_ms", type_=Integer),
            backup_seq=bindparam("as_of_seq", type_=Integer),
        )
    )


@cache
def begin_epoch() -> Update:
    """A new epoch, which makes every older lease void."""
    return update(META).where(META.c.id == 1).values(epoch=bindparam("to_epoch", type_=Integer))


@cache
def release_every_lease() -> Update:
    """Every leased job is ready again: its holder worked for a store that is no more."""
    return (
        update(JOB)
        .where(JOB.c.id.in_(select(JOB.c.id).where(JOB.c.state == text("'leased'"))))
        .values(state=JobState.READY, lease_worker=null(), lease_deadline_ms=null())
    )


@cache
def end_every_worker() -> Update:
    """Every worker that the store takes for running is dead to it; what it had stored unread is read by the next."""
    return (
        update(WORKER)
        .where(WORKER.c.state.in_(["live", "draining"]))
        .values(state="dead", stopped_ms=bindparam("at_ms", type_=Integer))
    )
