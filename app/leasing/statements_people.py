"""What a person says of datasets and jobs: holds, settings, retries, cancellations."""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from app.leasing.statements import NO_LEASE
from app.model.states import Event, JobState, sources
from app.store.batch import batch_rows
from app.store.tables import (
    DATASET,
    HOLD,
    JOB,
    READING,
    RESPONSE,
)


@cache
def supersede_answers() -> Update:
    """What the jobs of a batch that are taken out had accepted before stands no longer."""
    jobs = batch_rows("jobs", job=int)
    return (
        update(RESPONSE)
        .where(
            RESPONSE.c.job_id.in_(select(jobs.c.job)),
            RESPONSE.c.accepted_seq.is_not(None),
            RESPONSE.c.superseded_seq.is_(None),
        )
        .values(superseded_seq=bindparam("at_seq", type_=Integer))
    )


@cache
def holds() -> Select[Any]:
    """Every reason that stands not to claim from a dataset."""
    return select(HOLD.c.dataset_id, DATASET.c.name, HOLD.c.kind, HOLD.c.reason, HOLD.c.since_seq).join(
        DATASET, DATASET.c.id == HOLD.c.dataset_id
    )


@cache
def hold() -> ReturningInsert[Any]:
    """Hold a dataset for one kind of reason; an older reason of that kind stands."""
    return upsert(HOLD).on_conflict_do_nothing().returning(HOLD.c.kind)


@cache
def lift() -> Delete:
    """Take back the reasons of the given kinds."""
    return delete(HOLD).where(
        HOLD.c.dataset_id == bindparam("dataset"), HOLD.c.kind.in_(bindparam("kinds", expanding=True))
    )


@cache
def dataset_settings() -> Select[Any]:
    """Every dataset with what decides how its jobs are asked."""
    return select(DATASET.c.id, DATASET.c.name, DATASET.c.rank, DATASET.c.max_attempts, DATASET.c.config).order_by(
        DATASET.c.id
    )


@cache
def change_settings() -> Update:
    """New settings of a dataset; rank and tries stay where none are given."""
    return (
        update(DATASET)
        .where(DATASET.c.id == bindparam("dataset"))
        .values(
            config=bindparam("to_config"),
            rank=func.coalesce(bindparam("to_rank", type_=Integer), DATASET.c.rank),
            max_attempts=func.coalesce(bindparam("to_max_attempts", type_=Integer), DATASET.c.max_attempts),
        )
    )


def _chosen() -> tuple[ColumnElement[bool], ...]:
    """The jobs of a person's selection; a filter that is not said lets all through."""
    filters = (("any_verdict", JOB.c.verdict, "verdicts"), ("any_cause", JOB.c.cause, "causes"))
    return (
        JOB.c.dataset_id == bindparam("dataset", type_=Integer),
        JOB.c.state.in_(bindparam("states", expanding=True)),
        *(
            or_(bindparam(every, type_=Integer) == 1, column.in_(bindparam(values, expanding=True)))
            for every, column, values in filters
        ),
    )


def _flagged() -> ColumnElement[bool]:
    """Jobs whose answers have a hint at a loss, where one was asked for."""
    return or_(bindparam("any_flag", type_=Integer) == 1, _has_flag(JOB))


def _has_flag(table: Any) -> ColumnElement[bool]:
    has: ColumnElement[bool] = table.c.loss_flags.contains(bindparam("flag", type_=Text))
    return has


@cache
def retryable() -> Select[Any]:
    """The jobs of a selection by state, verdict and cause: a walk over the narrow job rows of one dataset."""
    groups = (JOB.c.state, JOB.c.verdict, JOB.c.cause)
    in_order = JOB.c.ordinal > 0  # by the index whose order is that of the rows on the disk
    counts = (func.count().label("n"), func.max(JOB.c.ordinal).label("last_ordinal"))
    return select(*groups, *counts).where(*_chosen(), _flagged(), in_order).group_by(*groups)


def _from_turn() -> ColumnElement[int]:
    """Where a conversation begins anew: at the first turn of a chosen verdict or hint, else at its first one.

    One that never came to its end goes on where it was.
    """
    newest = select(func.max(READING.c.seq)).where(READING.c.response_id == RESPONSE.c.id).correlate(RESPONSE)
    accepted = and_(RESPONSE.c.job_id == JOB.c.id, RESPONSE.c.accepted_seq.is_not(None))
    first_chosen = (
        select(func.min(RESPONSE.c.turn))
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == newest.scalar_subquery()))
        .where(
            accepted,
            RESPONSE.c.superseded_seq.is_(None),
            or_(READING.c.verdict.in_(bindparam("verdicts", expanding=True)), _has_flag(READING)),
        )
        .correlate(JOB)
        .scalar_subquery()
    )
    came_to_its_end = select(RESPONSE.c.id).where(accepted).correlate(JOB).exists()
    return case((JOB.c.state == JobState.DONE, func.coalesce(first_chosen, 0)), (came_to_its_end, 0), else_=JOB.c.turn)


@cache
def retry() -> Update:
    """New attempts for the selected jobs in (after, until] of the order of import. The fence, `attempt`, stays."""
    page = select(JOB.c.id).where(
        *_chosen(),
        _flagged(),
        JOB.c.ordinal > bindparam("after", type_=Integer),
        JOB.c.ordinal <= bindparam("until", type_=Integer),
    )
    return (
        update(JOB)
        .where(JOB.c.id.in_(page), JOB.c.state.in_(sources(Event.RETRY)))
        .values(
            state=JobState.READY,
            tries=0,
            expiries=0,
            deaths=0,
            cause=null(),
            params=func.coalesce(bindparam("to_params", type_=Text), JOB.c.params),
            turn=case((JOB.c.turns == 1, 0), else_=_from_turn()),
        )
    )


@cache
def cancel_chosen() -> ReturningUpdate[Any]:
    """Take out the selected jobs in (after, until] of the order of import; what is done stays done."""
    page = select(JOB.c.id).where(
        *_chosen(),
        JOB.c.ordinal > bindparam("after", type_=Integer),
        JOB.c.ordinal <= bindparam("until", type_=Integer),
    )
    return (
        update(JOB)
        .where(JOB.c.id.in_(page), JOB.c.state.in_(sources(Event.CANCEL)))
        .values(state=JobState.CANCELLED, due_ms=null(), **NO_LEASE)
        .returning(JOB.c.id)
    )
