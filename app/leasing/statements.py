"""Every statement that moves a lease. Each UPDATE carries the states it may start from, and the fence."""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Insert,
    Integer,
    Select,
    Update,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal,
    literal_column,
    not_,
    null,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from app.model.lease import Cause
from app.model.limits import (
    DEATHS_BEFORE_ALONE,
    EXPIRIES_BEFORE_FAILED,
    EXPIRIES_BEFORE_REST,
    FIRST_REST_MS,
    LONGEST_WAIT_MS,
)
from app.model.states import OPEN, Event, JobState
from app.store.batch import batch_rows
from app.store.beside import on_servers
from app.store.guards import may
from app.store.limiting import at_most
from app.store.tables import (
    COUNTER,
    DATASET,
    EVENT,
    HOLD,
    JOB,
    META,
    RESPONSE,
    SAMPLE,
    UNREAD,
    WORKER,
)

OPEN_WORKER = ("live", "draining")


NO_LEASE: dict[str, Any] = {"lease_worker": null(), "lease_deadline_ms": null()}


def _unread() -> ColumnElement[bool]:
    """A body of the job's newest attempt is stored and not read: offering the job would ask for what is already here.

    A body of an older attempt does not count, or a lease would outlive its holder while somebody's late answer is read.
    """
    return (
        select(UNREAD.c.response_id)
        .join(RESPONSE, RESPONSE.c.id == UNREAD.c.response_id)
        .where(UNREAD.c.job_id == JOB.c.id, RESPONSE.c.attempt == JOB.c.attempt)
        .correlate(JOB)
        .exists()
    )


@cache
def epoch() -> Select[Any]:
    """The epoch of the store: a restore writes a new one, and every older lease is void."""
    return select(META.c.epoch).where(META.c.id == 1)


@cache
def wake_due() -> Update:
    """Waiting jobs whose time has come are ready again; so are those that only a jumped clock could have put so far."""
    waiting = and_(JOB.c.dataset_id.in_(select(DATASET.c.id)), JOB.c.state == text("'waiting'"))
    now_ms = bindparam("now_ms", type_=Integer)
    due = union_all(  # two ranges of one index; joined by OR they would be a walk through all that wait
        select(JOB.c.id).where(waiting, JOB.c.due_ms <= now_ms),
        select(JOB.c.id).where(waiting, JOB.c.due_ms > now_ms + LONGEST_WAIT_MS),
    ).limit(at_most(1000))
    return update(JOB).where(JOB.c.id.in_(due), may(Event.DUE)).values(state=JobState.READY, due_ms=null())


@cache
def claimable() -> Select[Any]:
    """Datasets that have a ready job and no hold, in the order in which they take their turn."""
    ready = exists().where(JOB.c.dataset_id == DATASET.c.id, JOB.c.state == text("'ready'"))
    held = exists().where(HOLD.c.dataset_id == DATASET.c.id)
    return (
        select(DATASET.c.id, DATASET.c.name, DATASET.c.config)
        .where(ready, not_(held))
        .order_by(DATASET.c.rank, DATASET.c.claimed_ms, DATASET.c.id)
    )


def _claim(suspects: ColumnElement[bool]) -> ReturningUpdate[Any]:
    first = (
        select(JOB.c.id)
        .where(
            JOB.c.dataset_id == bindparam("dataset"),
            JOB.c.state == text("'ready'"),  # literal, so that the partial index serves
            suspects,
            not_(exists().where(HOLD.c.dataset_id == bindparam("dataset"))),
            exists().where(WORKER.c.id == bindparam("worker"), WORKER.c.state == text("'live'")),
            not_(_unread()),
        )
        .order_by(JOB.c.rank, JOB.c.id)
        .limit(at_most("slots"))
        .with_for_update(skip_locked=True, of=JOB)  # SQLite, whose writers are alone, leaves this out
    )
    return (
        update(JOB)
        .where(JOB.c.id.in_(first), may(Event.CLAIM))
        .values(
            state=JobState.LEASED,
            attempt=JOB.c.attempt + 1,
            lease_worker=bindparam("worker"),
            lease_deadline_ms=bindparam("deadline_ms"),
            leased_ms=bindparam("now_ms", type_=Integer),
        )
        .returning(JOB.c.id, JOB.c.attempt, JOB.c.tries, JOB.c.deaths)
    )


_ALONE: ColumnElement[int] = literal_column(str(DEATHS_BEFORE_ALONE), Integer)


@cache
def claim() -> ReturningUpdate[Any]:
    """Lease the first ready jobs of one dataset to one worker; the fence `attempt` grows. A held dataset gives none."""
    return _claim(JOB.c.deaths < _ALONE)


@cache
def claim_suspects() -> ReturningUpdate[Any]:
    """The same for jobs that may be what kills their endpoint."""
    return _claim(JOB.c.deaths >= _ALONE)


@cache
def took_turn() -> Update:
    """Note when a dataset was last claimed from, so that equals take turns: after all others, whatever clocks do."""
    everyone = DATASET.alias("everyone")
    after_all = select(func.max(everyone.c.claimed_ms) + 1).scalar_subquery()
    taken = (
        update(DATASET)
        .where(DATASET.c.id == bindparam("dataset"))
        .values(claimed_ms=func.max(bindparam("now_ms", type_=Integer), after_all))
    )
    mine = select(DATASET.c.id).where(DATASET.c.id == bindparam("dataset"))
    # Whoever claims from it at the same moment notes the same: it is not waited for.
    return on_servers(
        taken, instead=taken.where(DATASET.c.id.in_(mine.with_for_update(skip_locked=True, key_share=True)))
    )


@cache
def prompts() -> Select[Any]:
    """What is asked for each job of the batch, with the settings of its dataset and whether that is held by now."""
    jobs = batch_rows("jobs", job=int)
    return (
        select(
            JOB.c.id,
            JOB.c.replica,
            JOB.c.seed,
            JOB.c.turns,
            JOB.c.turn,
            SAMPLE.c.sample_id,
            SAMPLE.c.messages,
            SAMPLE.c.tools,
            SAMPLE.c.params,
            SAMPLE.c.content_sha256,
            JOB.c.params.label("job_params"),
            DATASET.c.config,
            DATASET.c.name.label("dataset"),
            exists().where(HOLD.c.dataset_id == DATASET.c.id).label("held"),
        )
        .select_from(jobs)
        .join(JOB, JOB.c.id == jobs.c.job)
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
    )


@cache
def release() -> ReturningUpdate[Any]:
    """Give leases back unasked: nothing is counted. A lease that is no longer ours, or whose body is stored, stays."""
    leases = batch_rows("leases", job=int, attempt=int, worker=int, epoch=int)
    return (
        update(JOB)
        .where(
            JOB.c.id == leases.c.job,
            JOB.c.attempt == leases.c.attempt,
            JOB.c.lease_worker == leases.c.worker,
            leases.c.epoch == epoch().scalar_subquery(),
            may(Event.RELEASE),
            not_(_unread()),
        )
        .values(state=JobState.READY, **NO_LEASE)
        .returning(JOB.c.id)
    )


@cache
def release_all() -> Update:
    """Give back whatever a worker that ends still holds: claims whose caller was cancelled before it saw them."""
    return (
        update(JOB)
        .where(JOB.c.lease_worker == bindparam("worker"), JOB.c.state == text("'leased'"), not_(_unread()))
        .values(state=JobState.READY, **NO_LEASE)
    )


@cache
def release_unheld() -> Update:
    """Give back what a live worker has in the store and not in its hands; `held` are the jobs that it works at."""
    held = batch_rows("held", job=int)
    return (
        update(JOB)
        .where(
            JOB.c.lease_worker == bindparam("worker"),
            JOB.c.state == text("'leased'"),
            JOB.c.id.not_in(select(held.c.job)),
            not_(_unread()),
        )
        .values(state=JobState.READY, **NO_LEASE)
    )


def _rest_ms() -> ColumnElement[int]:
    """How long a job rests after its n-th expired lease: doubling from ten seconds, ten minutes at most."""
    doublings = JOB.c.expiries + 1 - EXPIRIES_BEFORE_REST
    return func.min(literal(FIRST_REST_MS).op("<<")(doublings), LONGEST_WAIT_MS)


def _expired() -> dict[str, Any]:
    worn_out = JOB.c.expiries + 1 >= EXPIRIES_BEFORE_FAILED
    rests = and_(JOB.c.expiries + 1 >= EXPIRIES_BEFORE_REST, not_(worn_out))
    return {
        "expiries": JOB.c.expiries + 1,
        "state": case((worn_out, JobState.FAILED), (rests, JobState.WAITING), else_=JobState.READY),
        "due_ms": case((rests, bindparam("now_ms") + _rest_ms()), else_=null()),
        "cause": case((worn_out, Cause.KILLS_WORKERS), else_=JOB.c.cause),
        "finished_ms": case((worn_out, bindparam("now_ms")), else_=JOB.c.finished_ms),
        **NO_LEASE,
    }


@cache
def rescue() -> ReturningUpdate[Any]:
    """Take the leases of a worker that is dead; finished jobs and jobs with an unread body are left alone."""
    return (
        update(JOB)
        .where(
            JOB.c.lease_worker == bindparam("dead"),
            JOB.c.state == text("'leased'"),
            not_(_unread()),
        )
        .values(**_expired())
        .returning(JOB.c.id, JOB.c.state)
    )


@cache
def rescue_overdue() -> ReturningUpdate[Any]:
    """Take leases that are past their hard deadline, from whoever holds them."""
    overdue = select(JOB.c.id).where(
        JOB.c.state == text("'leased'"), JOB.c.lease_deadline_ms < bindparam("now_ms", type_=Integer)
    )
    return (
        update(JOB)
        .where(JOB.c.id.in_(overdue), JOB.c.state == text("'leased'"), not_(_unread()))
        .values(**_expired())
        .returning(JOB.c.id, JOB.c.state)
    )


@cache
def adopt_unread() -> ReturningUpdate[Any]:
    """The unread bodies of a dead worker go to its rescuer, who reads them."""
    return (
        update(UNREAD)
        .where(UNREAD.c.response_id.in_(select(UNREAD.c.response_id).where(UNREAD.c.worker_id == bindparam("dead"))))
        .values(worker_id=bindparam("rescuer"))
        .returning(UNREAD.c.response_id)
    )


@cache
def register() -> ReturningInsert[Any]:
    """A worker process has started."""
    return insert(WORKER).returning(WORKER.c.id)


@cache
def renew() -> Update:
    """One beat of a worker that nobody has declared dead."""
    return (
        update(WORKER)
        .where(WORKER.c.id == bindparam("worker"), WORKER.c.state.in_(OPEN_WORKER))
        .values(beat=WORKER.c.beat + 1, heartbeat_ms=bindparam("now_ms"))
    )


@cache
def set_worker_state() -> Update:
    """A worker drains, stops or is found dead; only an open one can."""
    return (
        update(WORKER)
        .where(WORKER.c.id == bindparam("worker"), WORKER.c.state.in_(OPEN_WORKER))
        .values(state=bindparam("to_state"), stopped_ms=bindparam("at_ms"))
    )


@cache
def worker_state() -> Select[Any]:
    """The state of one worker."""
    return select(WORKER.c.state).where(WORKER.c.id == bindparam("worker"))


@cache
def open_workers() -> Select[Any]:
    """Workers that have neither stopped nor been declared dead."""
    return select(WORKER.c.id, WORKER.c.uuid, WORKER.c.beat, WORKER.c.ttl_ms).where(
        WORKER.c.state.in_([literal_column("'live'"), literal_column("'draining'")])
    )


@cache
def work_left() -> Select[Any]:
    """Per dataset with unfinished jobs: how many are ready, waiting and leased, and what holds it."""
    return (
        select(DATASET.c.id, DATASET.c.name, COUNTER.c.metric, COUNTER.c.n)
        .join(COUNTER, COUNTER.c.dataset_id == DATASET.c.id)
        .where(COUNTER.c.metric.in_([f"state:{state}" for state in (*OPEN, JobState.FAILED)]), COUNTER.c.n > 0)
    )


@cache
def note_event() -> Insert:
    """Keep what happened to the run."""
    return insert(EVENT)
