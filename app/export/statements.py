"""What an export asks the store: one census, then pages as of the census."""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Select, Text, and_, bindparam, exists, func, literal_column, or_, select

from app.model.states import JobState
from app.store.batch import batch_rows
from app.store.tables import BODY, COUNTER, DATASET, ENDPOINT, JOB, META, READING, RESPONSE, SAMPLE, SOURCE, TOKEN_IDS

_DATASET = bindparam("dataset", type_=Integer())
_SEQ = bindparam("as_of_seq", type_=Integer())
_STANDS = and_(RESPONSE.c.job_id == JOB.c.id, RESPONSE.c.accepted_seq.is_not(None), RESPONSE.c.superseded_seq.is_(None))


@cache
def store_facts() -> Select[Any]:
    """Which store this is, and the number of its newest transaction."""
    return select(META.c.store_id, META.c.epoch, META.c.seq)


@cache
def dataset_named() -> Select[Any]:
    """The dataset of a name."""
    return select(DATASET.c.id, DATASET.c.config).where(DATASET.c.name == bindparam("name", type_=Text()))


@cache
def names() -> Select[Any]:
    """The names of all datasets."""
    return select(DATASET.c.name).order_by(DATASET.c.name)


@cache
def counted_jobs() -> Select[Any]:
    """How many jobs the counters say that a dataset has: a second opinion on what the census finds."""
    is_state = COUNTER.c.metric.in_([literal_column(f"'state:{state}'") for state in JobState])
    return select(func.coalesce(func.sum(COUNTER.c.n), 0)).where(COUNTER.c.dataset_id == _DATASET, is_state)


@cache
def extent() -> Select[Any]:
    """The last job of a dataset in the order of import: its place and its replica."""
    return (
        select(JOB.c.ordinal, JOB.c.replica)
        .where(JOB.c.dataset_id == _DATASET)
        .order_by(JOB.c.ordinal.desc(), JOB.c.replica.desc())
        .limit(1)
    )


@cache
def highest_job() -> Select[Any]:
    """The number of the newest job in the store."""
    return select(func.max(JOB.c.id))


def _has_answer() -> Any:
    """An accepted answer stands: surely for a done job, and perhaps for one that is being retried."""
    return or_(JOB.c.state == JobState.DONE, exists().where(_STANDS))


@cache
def census() -> Select[Any]:
    """Jobs of a dataset by state, cause, verdict and finish reason; a walk over the narrow job rows of the dataset."""
    answered = _has_answer().label("answered")
    groups = (JOB.c.state, JOB.c.cause, JOB.c.verdict, JOB.c.finish_reason, answered)
    in_order = JOB.c.ordinal > 0  # all of them, by the index whose order is that of the rows on the disk
    counted = (func.count().label("n"), func.max(JOB.c.turns).label("turns"))
    return select(*groups, *counted).where(JOB.c.dataset_id == _DATASET, in_order).group_by(*groups)


@cache
def unanswered() -> Select[Any]:
    """The first jobs without an accepted answer, in the order of import."""
    return (
        select(JOB.c.sample_id, JOB.c.replica, JOB.c.state, JOB.c.cause)
        .where(JOB.c.dataset_id == _DATASET, JOB.c.state != JobState.DONE, ~exists().where(_STANDS))
        .order_by(JOB.c.ordinal, JOB.c.replica)
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def sources() -> Select[Any]:
    """The files that a dataset was imported from."""
    return (
        select(SOURCE.c.name, SOURCE.c.sha256, SOURCE.c.rows, SOURCE.c.rejected, SOURCE.c.finished_ms)
        .where(SOURCE.c.dataset_id == _DATASET)
        .order_by(SOURCE.c.id)
    )


# Of every answer; what pages make of a row takes these in their order.
_ALWAYS = (
    JOB.c.sample_id, JOB.c.replica, JOB.c.turns, SAMPLE.c.messages, SAMPLE.c.tools,
    RESPONSE.c.id, RESPONSE.c.endpoint_id, RESPONSE.c.form, BODY.c.codec, BODY.c.raw,
    READING.c.verdict, READING.c.parser_version, READING.c.text_form, READING.c.reasoning, READING.c.content,
    READING.c.tool_calls, READING.c.finish_reason, READING.c.parts,
)  # fmt: skip
# How an answer came, in the order of app.export.values.Facts: half of all columns, and few files show them.
_FACTS = (
    SAMPLE.c.params, READING.c.flags, READING.c.loss_flags, RESPONSE.c.expected, RESPONSE.c.profile,
    RESPONSE.c.raw_text_sent, RESPONSE.c.http_status, RESPONSE.c.content_type, RESPONSE.c.request_id,
    RESPONSE.c.request, RESPONSE.c.request_sha256, RESPONSE.c.requested_ms, RESPONSE.c.received_ms,
    RESPONSE.c.raw_sha256,
)  # fmt: skip


@cache
def answers() -> Select[Any]:
    """The accepted answers as of a seq of the jobs in (after, until] of the order of import."""
    return _answers(_ALWAYS)


@cache
def answers_with_facts() -> Select[Any]:
    """The same with how each answer came."""
    return _answers(_ALWAYS + _FACTS)


def _answers(columns: tuple[Any, ...]) -> Select[Any]:
    """A response that was accepted later, or superseded later, counts as it stood then; so does each newest reading."""
    readings = select(func.max(READING.c.seq)).where(READING.c.response_id == RESPONSE.c.id, READING.c.seq <= _SEQ)
    newest = readings.correlate(RESPONSE).scalar_subquery()
    stood = and_(
        RESPONSE.c.job_id == JOB.c.id,
        RESPONSE.c.accepted_seq <= _SEQ,
        or_(RESPONSE.c.superseded_seq.is_(None), RESPONSE.c.superseded_seq > _SEQ),
    )
    return (
        select(*columns)
        .select_from(JOB)
        .join(RESPONSE, stood)
        .join(BODY, BODY.c.response_id == RESPONSE.c.id)
        .join(READING, and_(READING.c.response_id == RESPONSE.c.id, READING.c.seq == newest))
        .join(SAMPLE, SAMPLE.c.id == JOB.c.sample_ref)
        .where(
            JOB.c.dataset_id == _DATASET,
            JOB.c.ordinal > bindparam("after", type_=Integer()),
            JOB.c.ordinal <= bindparam("until", type_=Integer()),
            JOB.c.id <= bindparam("highest_job", type_=Integer()),
        )
        .order_by(JOB.c.ordinal, JOB.c.replica, RESPONSE.c.turn)
    )


@cache
def token_ids() -> Select[Any]:
    """The server's token ids of the responses of a batch, as of a seq."""
    wanted = batch_rows("responses", response=int)
    other = TOKEN_IDS.alias("other")
    seqs = select(func.max(other.c.seq)).where(other.c.response_id == wanted.c.response, other.c.seq <= _SEQ)
    newest = seqs.correlate(wanted).scalar_subquery()
    return select(TOKEN_IDS.c.response_id, TOKEN_IDS.c.prompt, TOKEN_IDS.c.answer).join_from(
        wanted, TOKEN_IDS, and_(TOKEN_IDS.c.response_id == wanted.c.response, TOKEN_IDS.c.seq == newest)
    )


@cache
def endpoints() -> Select[Any]:
    """The servers of the batch."""
    wanted = batch_rows("endpoints", endpoint=int)
    return (
        select(ENDPOINT.c.id, ENDPOINT.c.base_url, ENDPOINT.c.model, ENDPOINT.c.fingerprint)
        .join_from(wanted, ENDPOINT, ENDPOINT.c.id == wanted.c.endpoint)
        .order_by(ENDPOINT.c.id)
    )
