"""Sabotage, from outside: a drill that holds with one of these in place proves nothing."""

import time
from collections.abc import Callable
from typing import Any

from anyio import from_thread
from sqlalchemy import bindparam, or_, select, update
from sqlalchemy.sql import visitors

from tests.drill import patching

EARLY_S = 1.5  # how long after its callers were told a group with bodies is committed


def fence() -> None:
    """Answers are accepted whatever their attempt, and whatever became of the job meanwhile."""
    from app.responses import statements
    from app.store.tables import JOB

    whole: Any = statements.accept()
    answers = next(part.table for part in visitors.iterate(whole.whereclause) if _is_of(part, "answers"))
    bare = update(JOB).where(JOB.c.id == answers.c.job).values(whole._values).returning(JOB.c.id, answers.c.attempt)
    patching.put("app.responses.statements:accept", lambda: bare)


def _is_of(part: Any, table: str) -> bool:
    return getattr(getattr(part, "table", None), "name", None) == table


def early_ack() -> None:
    """Whoever asked for a write is told that it is stored, and only then it is committed."""
    from app.responses.keep import keep
    from app.store.transaction import Tx, at_once
    from app.store.writer import Writer, answer, by_operation

    def transact(writer: Any, group: Any) -> None:
        with writer._engine.begin() as connection:
            tx = Tx(connection, writer._now_ms())
            for operation, requests in by_operation(group):
                results = at_once(operation(tx, [request.item for request in requests]))
                for request, result in zip(requests, results, strict=True):
                    request.result = result
            from_thread.run_sync(answer, group)
            if any(request.operation is keep for request in group):
                time.sleep(EARLY_S)

    Writer._transact = transact  # type: ignore[method-assign]


def rescue_guard() -> None:
    """A rescuer takes whatever the dead worker ever had, without a look at the state it is in by now."""
    from app.model.states import JobState
    from app.store.tables import JOB, RESPONSE

    def unguarded() -> Any:
        dead = bindparam("dead")
        his = select(RESPONSE.c.job_id).where(RESPONSE.c.worker_id == dead)
        return (
            update(JOB)
            .where(or_(JOB.c.lease_worker == dead, JOB.c.id.in_(his)))
            .values(state=JobState.READY, lease_worker=None, lease_deadline_ms=None, due_ms=None)
            .returning(JOB.c.id, JOB.c.state)
        )

    made = unguarded()
    patching.put("app.leasing.statements:rescue", lambda: made)


BROKEN: dict[str, Callable[[], None]] = {"fence": fence, "early_ack": early_ack, "rescue_guard": rescue_guard}
