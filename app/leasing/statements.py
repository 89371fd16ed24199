"""Every statement that moves a lease. Each UPDATE carries the states it may start from, and the fence."""

from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
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
    exists,
    func,
    insert,
    literal,
    literal_column,
    not_,
    null,
    or_,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from app.model.lease import Cause
from app.model.limits import (
    DEATHS_BEFORE_ALONE,
    EXPIRIES_BEFORE_FAILED,
    EXPIRIES_BEFORE_REST,
    FIRST_REST_MS,
    LONGEST_WAIT_MS,
)
from app.model.states import Event, JobState, sources
from app.store.batch import batch_rows
from app.store.tables import (
    ALARM,
    BUCKET,
    COUNTER,
    DATASET,
    EVENT,
    FAILURE,
    FAILURE_GROUP,
    GATE_WINDOW,
    HOLD,
    JOB,
    META,
    READING,
    REASONING_LENGTH,
    RESPONSE,
    SAMPLE,
    SOURCE,
    TOKEN_IDS,
    TRIAGE,
    UNREAD,
    WORKER,
)

OPEN_WORKER = ("live", "draining")
_NO_LEASE: dict[str, Any] = {"lease_worker": null(), "lease_deadline_ms": null()}


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
    ).limit(1000)
    return (
        update(JOB)
        .where(JOB.c.id.in_(due), JOB.c.state.in_(sources(Event.DUE)))
        .values(state=JobState.READY, due_ms=null())
    )


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
        .limit(bindparam("slots", type_=Integer))
    )
    return (
        update(JOB)
        .where(JOB.c.id.in_(first), JOB.c.state.in_(sources(Event.CLAIM)))
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
    return (
        update(DATASET)
        .where(DATASET.c.id == bindparam("dataset"))
        .values(claimed_ms=func.max(bindparam("now_ms", type_=Integer), after_all))
    )


@cache
def prompts() -> Select[Any]:
    """What is asked for each job of the batch, with the settings of its dataset and whether that is held by now."""
    jobs = batch_rows("jobs", job=int)
    return (
        select(
            JOB.c.id,
            JOB.c.replica,
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
            JOB.c.state.in_(sources(Event.RELEASE)),
            not_(_unread()),
        )
        .values(state=JobState.READY, **_NO_LEASE)
        .returning(JOB.c.id)
    )


@cache
def release_all() -> Update:
    """Give back whatever a worker that ends still holds: claims whose caller was cancelled before it saw them."""
    return (
        update(JOB)
        .where(JOB.c.lease_worker == bindparam("worker"), JOB.c.state == text("'leased'"), not_(_unread()))
        .values(state=JobState.READY, **_NO_LEASE)
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
        **_NO_LEASE,
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
def fence_of() -> Select[Any]:
    """What decides about a failed attempt: the job's present holder and counts, and its dataset's limit."""
    return (
        select(JOB.c.state, JOB.c.attempt, JOB.c.lease_worker, JOB.c.tries, DATASET.c.max_attempts, META.c.epoch)
        .join(DATASET, DATASET.c.id == JOB.c.dataset_id)
        .join(META, META.c.id == 1)
        .where(JOB.c.id == bindparam("job"))
    )


@cache
def state_of() -> Select[Any]:
    """Where a job is, as long as no newer attempt at it began."""
    return select(JOB.c.state).where(JOB.c.id == bindparam("job"), JOB.c.attempt == bindparam("attempt"))


@cache
def settle_failure() -> Update:
    """Move the job of a failed attempt; only its holder may."""
    return (
        update(JOB)
        .where(
            JOB.c.id == bindparam("job"),
            JOB.c.attempt == bindparam("held_attempt"),
            JOB.c.lease_worker == bindparam("worker"),
            JOB.c.state == JobState.LEASED,
            bindparam("epoch", type_=Integer) == epoch().scalar_subquery(),
        )
        .values(
            state=bindparam("to_state"),
            due_ms=bindparam("to_due_ms"),
            cause=bindparam("to_cause"),
            tries=JOB.c.tries + bindparam("counted", type_=Integer),
            deaths=JOB.c.deaths + bindparam("died", type_=Integer),
            finished_ms=func.coalesce(bindparam("ended_ms"), JOB.c.finished_ms),
            **_NO_LEASE,
        )
    )


@cache
def note_failure() -> Insert:
    """Keep one failed attempt, whatever becomes of its job."""
    return insert(FAILURE)


def _of_group(column: str, kind: type[Integer] | type[Text]) -> ColumnElement[bool]:
    return FAILURE_GROUP.c[column] == bindparam(column, type_=kind())


@cache
def failure_group() -> Select[Any]:
    """The group of failed attempts with the same cause, HTTP status and masked message."""
    return select(FAILURE_GROUP.c.id).where(
        FAILURE_GROUP.c.dataset_id == bindparam("dataset", type_=Integer),
        _of_group("cause", Text),
        _of_group("http_status", Integer),
        _of_group("message", Text),
    )


@cache
def failure_groups() -> Select[Any]:
    """How many groups a dataset has."""
    return (
        select(func.count())
        .select_from(FAILURE_GROUP)
        .where(FAILURE_GROUP.c.dataset_id == bindparam("dataset", type_=Integer))
    )


@cache
def count_failure() -> ReturningInsert[Any]:
    """One more failed attempt of a group."""
    now_ms = bindparam("now_ms", type_=Integer)
    row = upsert(FAILURE_GROUP).values(
        dataset_id=bindparam("dataset"), cause=bindparam("cause"), http_status=bindparam("http_status"),
        message=bindparam("message"), attempts=1, first_ms=now_ms, last_ms=now_ms,
    )  # fmt: skip
    return row.on_conflict_do_update(
        index_elements=["dataset_id", "cause", "http_status", "message"],
        set_={"attempts": FAILURE_GROUP.c.attempts + 1, "last_ms": now_ms},
    ).returning(FAILURE_GROUP.c.id)


@cache
def response_of() -> Select[Any]:
    """The stored body of one attempt."""
    return (
        select(RESPONSE.c.id)
        .where(RESPONSE.c.job_id == bindparam("job"), RESPONSE.c.attempt == bindparam("attempt"))
        .order_by(RESPONSE.c.turn.desc())
        .limit(1)
    )


@cache
def stand_in() -> Select[Any]:
    """The response that can stand in for one that could not be had: the accepted one, else the newest readable one."""
    newest = (
        select(func.max(READING.c.seq))
        .where(READING.c.response_id == RESPONSE.c.id)
        .correlate(RESPONSE)
        .scalar_subquery()
    )
    standing = and_(RESPONSE.c.accepted_seq.is_not(None), RESPONSE.c.superseded_seq.is_(None))
    return (
        select(
            RESPONSE.c.id,
            RESPONSE.c.accepted_seq,
            RESPONSE.c.expected,
            (RESPONSE.c.received_ms - RESPONSE.c.requested_ms).label("latency_ms"),
            READING.c.verdict,
            READING.c.finish_reason,
            READING.c.found,
            READING.c.reasoning_chars,
            READING.c.content_chars,
            READING.c.completion_tokens,
            READING.c.preview,
        )
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == newest))
        .where(
            RESPONSE.c.job_id == bindparam("job"),
            READING.c.verdict != "malformed",
            RESPONSE.c.superseded_seq.is_(None),
        )
        .order_by(standing.desc(), RESPONSE.c.attempt.desc())
        .limit(1)
    )


@cache
def promote() -> Update:
    """A job that would fail is done by its stand-in."""
    return (
        update(JOB)
        .where(JOB.c.id == bindparam("job"), JOB.c.state == JobState.FAILED)
        .values(
            state=JobState.DONE,
            cause=null(),
            verdict=bindparam("to_verdict"),
            expected=bindparam("to_expected"),
            finish_reason=bindparam("to_finish_reason"),
            found=bindparam("to_found"),
            reasoning_chars=bindparam("to_reasoning_chars"),
            content_chars=bindparam("to_content_chars"),
            completion_tokens=bindparam("to_completion_tokens"),
            latency_ms=bindparam("to_latency_ms"),
            preview=bindparam("to_preview"),
        )
    )


@cache
def accept_response() -> Update:
    """A stored response becomes the accepted one."""
    return (
        update(RESPONSE)
        .where(RESPONSE.c.id == bindparam("response"), RESPONSE.c.accepted_seq.is_(None))
        .values(accepted_seq=bindparam("at_seq"))
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
        .where(COUNTER.c.metric.in_(["state:ready", "state:waiting", "state:leased", "state:failed"]), COUNTER.c.n > 0)
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


@cache
def retryable() -> Select[Any]:
    """The jobs of a selection by state, verdict and cause: a walk over the narrow job rows of one dataset."""
    groups = (JOB.c.state, JOB.c.verdict, JOB.c.cause)
    in_order = JOB.c.ordinal > 0  # by the index whose order is that of the rows on the disk
    counts = (func.count().label("n"), func.max(JOB.c.ordinal).label("last_ordinal"))
    return select(*groups, *counts).where(*_chosen(), in_order).group_by(*groups)


@cache
def retry() -> Update:
    """New attempts for the selected jobs in (after, until] of the order of import. The fence, `attempt`, stays."""
    page = select(JOB.c.id).where(
        *_chosen(),
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
        )
    )


@cache
def note_event() -> Insert:
    """Keep what happened to the run."""
    return insert(EVENT)


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
        .values(state=JobState.CANCELLED, due_ms=null(), **_NO_LEASE)
        .returning(JOB.c.id)
    )


# What follows removes a dataset, a page of jobs a transaction, each table before those that it points to.


@cache
def newest_answer() -> Select[Any]:
    """When the newest answer of a dataset was accepted and came; null where it has none."""
    newest = (func.max(RESPONSE.c.accepted_seq).label("seq"), func.max(RESPONSE.c.received_ms).label("at_ms"))
    return (
        select(*newest)
        .join_from(JOB, RESPONSE, RESPONSE.c.job_id == JOB.c.id)
        .where(JOB.c.dataset_id == bindparam("dataset", type_=Integer), JOB.c.ordinal > 0)
    )


@cache
def copies_since() -> Select[Any]:
    """What was noted down since a moment about copies of a dataset, or of the whole store."""
    return select(EVENT.c.kind, EVENT.c.detail).where(
        EVENT.c.at_ms >= bindparam("since_ms", type_=Integer),
        EVENT.c.kind.in_(bindparam("kinds", expanding=True)),
        func.coalesce(EVENT.c.dataset_id, bindparam("dataset", type_=Integer)) == bindparam("dataset", type_=Integer),
    )


@cache
def leases_of() -> Select[Any]:
    """How many jobs of a dataset are leased."""
    return select(func.count()).where(
        JOB.c.state == literal_column("'leased'"), JOB.c.dataset_id == bindparam("dataset", type_=Integer)
    )


@cache
def page_of_jobs() -> Select[Any]:
    """The first jobs of a dataset in the order of import, with their samples."""
    return (
        select(JOB.c.id, JOB.c.sample_ref)
        .where(JOB.c.dataset_id == bindparam("dataset", type_=Integer), JOB.c.ordinal > 0)
        .order_by(JOB.c.ordinal)
        .limit(bindparam("jobs_a_page", type_=Integer))
    )


def _of_jobs() -> Select[Any]:
    jobs = batch_rows("jobs", job=int)
    return select(jobs.c.job)


def _of_responses() -> Select[Any]:
    return select(RESPONSE.c.id).where(RESPONSE.c.job_id.in_(_of_jobs()))


@cache
def delete_token_ids() -> Delete:
    """The token ids of the answers of some jobs."""
    return delete(TOKEN_IDS).where(TOKEN_IDS.c.response_id.in_(_of_responses()))


@cache
def delete_readings() -> Delete:
    """The readings of their answers."""
    return delete(READING).where(READING.c.response_id.in_(_of_responses()))


@cache
def delete_unread() -> Delete:
    """The marks of their answers that nobody has read."""
    return delete(UNREAD).where(UNREAD.c.job_id.in_(_of_jobs()))


@cache
def delete_failures() -> Delete:
    """Their failed attempts."""
    return delete(FAILURE).where(FAILURE.c.job_id.in_(_of_jobs()))


@cache
def delete_responses() -> Delete:
    """Their answers."""
    return delete(RESPONSE).where(RESPONSE.c.job_id.in_(_of_jobs()))


@cache
def delete_jobs() -> Delete:
    """The jobs themselves."""
    return delete(JOB).where(JOB.c.id.in_(_of_jobs()))


@cache
def delete_samples() -> Delete:
    """The samples that no job asks any more."""
    samples = batch_rows("samples", sample=int)
    used = exists().where(JOB.c.sample_ref == SAMPLE.c.id)
    return delete(SAMPLE).where(SAMPLE.c.id.in_(select(samples.c.sample)), ~used)


def _rest_of(table: Any) -> Delete:
    return delete(table).where(table.c.dataset_id == bindparam("dataset", type_=Integer))


@cache
def delete_sources() -> Delete:
    """The files of a dataset."""
    return _rest_of(SOURCE)


@cache
def delete_windows() -> Delete:
    """What its gates were judged by."""
    return _rest_of(GATE_WINDOW)


@cache
def delete_alarms() -> Delete:
    """Its alarms."""
    return _rest_of(ALARM)


@cache
def delete_holds() -> Delete:
    """Its holds."""
    return _rest_of(HOLD)


@cache
def delete_counters() -> Delete:
    """Its counters, which are all zero by now."""
    return _rest_of(COUNTER)


@cache
def delete_buckets() -> Delete:
    """Its minutes."""
    return _rest_of(BUCKET)


@cache
def delete_triage() -> Delete:
    """How its answers ended, which is all zero by now."""
    return _rest_of(TRIAGE)


@cache
def delete_lengths() -> Delete:
    """How long its reasoning was, which is all zero by now."""
    return _rest_of(REASONING_LENGTH)


@cache
def delete_failure_groups() -> Delete:
    """What went wrong in it."""
    return _rest_of(FAILURE_GROUP)


@cache
def delete_dataset() -> Delete:
    """The dataset."""
    return delete(DATASET).where(DATASET.c.id == bindparam("dataset", type_=Integer))
