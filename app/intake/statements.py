"""What an import asks and tells the store.

A batch is joined from its left side by outer joins: an inner one lets SQLite start from the dataset's samples, which
takes a scan of them for every batch (42,000 samples: 10 s instead of 10 ms).
"""

from functools import cache
from typing import Any

from sqlalchemy import Integer, Text, bindparam, func, insert, literal_column, select, update
from sqlalchemy.sql import Select
from sqlalchemy.sql.dml import Insert, ReturningInsert, Update

from app.model.states import JobState
from app.store.batch import batch_rows
from app.store.limiting import at_most
from app.store.tables import DATASET, EVENT, JOB, SAMPLE, SOURCE

_DATASET = bindparam("dataset", type_=Integer())
_SOURCE = bindparam("source", type_=Integer())


@cache
def dataset_named() -> Select[tuple[int, str, int, int]]:
    """The dataset of a name, with its settings."""
    return select(DATASET.c.id, DATASET.c.config, DATASET.c.max_attempts, DATASET.c.rank).where(
        DATASET.c.name == bindparam("name", type_=Text())
    )


@cache
def new_dataset() -> ReturningInsert[tuple[int]]:
    """A dataset without samples."""
    return insert(DATASET).returning(DATASET.c.id)


@cache
def standing() -> Select[Any]:
    """The samples under each base id whose occurrence lies after `used`, at most up to `until`; in order.

    The nulls of base ids without any are left out by a condition that SQLite cannot take as a reason to join the
    other way round, as it would with IS NOT NULL.
    """
    bases = batch_rows("bases", base_id=str, used=int, until=int)
    return (
        select(
            bases.c.base_id,
            SAMPLE.c.id,
            SAMPLE.c.occurrence,
            SAMPLE.c.content_sha256,
            SAMPLE.c.params,
            SAMPLE.c.source_id,
        )
        .outerjoin(
            SAMPLE,
            (SAMPLE.c.dataset_id == _DATASET)
            & (SAMPLE.c.base_id == bases.c.base_id)
            & (SAMPLE.c.occurrence > bases.c.used)
            & (SAMPLE.c.occurrence <= bases.c.until),
        )
        .where(func.coalesce(SAMPLE.c.id, 0) > 0)
        .order_by(SAMPLE.c.occurrence)
    )


@cache
def named_jobs() -> Select[tuple[int, str, str, str, int, int, str, int, str, int]]:
    """The samples of these very names, each with its first job and the place that it came from."""
    wanted = batch_rows("names", name=str)
    return (
        select(
            SAMPLE.c.id.label("key"),
            SAMPLE.c.sample_id,
            SAMPLE.c.content_sha256,
            SAMPLE.c.messages,
            SAMPLE.c.source_id,
            SAMPLE.c.source_row,
            SOURCE.c.name.label("file"),
            JOB.c.id.label("job"),
            JOB.c.state,
            JOB.c.turns,
        )
        .select_from(wanted)
        .outerjoin(SAMPLE, (SAMPLE.c.dataset_id == _DATASET) & (SAMPLE.c.sample_id == wanted.c.name))
        .outerjoin(JOB, (JOB.c.dataset_id == _DATASET) & (JOB.c.sample_id == wanted.c.name) & (JOB.c.replica == 0))
        .outerjoin(SOURCE, SOURCE.c.id == SAMPLE.c.source_id)
        .where(func.coalesce(SAMPLE.c.id, 0) > 0)
    )


@cache
def unanswered() -> Select[tuple[int, str, str]]:
    """The next jobs behind a place in the order of import that no answer stands for."""
    return (
        select(JOB.c.ordinal, JOB.c.sample_id, JOB.c.state)
        .where(
            JOB.c.dataset_id == _DATASET,
            JOB.c.ordinal > bindparam("after", type_=Integer()),
            JOB.c.replica == 0,
            JOB.c.verdict.is_(None),
        )
        .order_by(JOB.c.ordinal)
        .limit(bindparam("limit", type_=Integer()))
    )


@cache
def taken() -> Select[tuple[str]]:
    """Those of the names that a sample has already."""
    wanted = batch_rows("names", name=str)
    holder = select(SAMPLE.c.id).where(SAMPLE.c.dataset_id == _DATASET, SAMPLE.c.sample_id == wanted.c.name)
    return select(wanted.c.name).where(holder.exists())


@cache
def first_places() -> Select[tuple[str, int, str]]:
    """Where the first sample of each base id came from: line and file."""
    bases = batch_rows("bases", base_id=str)
    return (
        select(bases.c.base_id, SAMPLE.c.source_row, SOURCE.c.name)
        .outerjoin(
            SAMPLE,
            (SAMPLE.c.dataset_id == _DATASET) & (SAMPLE.c.base_id == bases.c.base_id) & (SAMPLE.c.occurrence == 1),
        )
        .outerjoin(SOURCE, SOURCE.c.id == SAMPLE.c.source_id)
    )


@cache
def highest_ordinal() -> Select[tuple[int]]:
    """The place of the dataset's last job; 0 when it has none."""
    return select(func.coalesce(func.max(JOB.c.ordinal), 0)).where(JOB.c.dataset_id == _DATASET)


@cache
def add_samples() -> Insert:
    """The samples of a batch."""
    rows = batch_rows(
        "samples",
        sample_id=str,
        base_id=str,
        occurrence=int,
        content_sha256=str,
        messages=str,
        tools=str,
        params=str,
        source_row=int,
    )
    columns = tuple(column.name for column in rows.c)
    return insert(SAMPLE).from_select(
        ["dataset_id", "source_id", *columns], select(_DATASET, _SOURCE, *(rows.c[name] for name in columns))
    )


@cache
def add_jobs() -> Insert:
    """Ready jobs for the named samples, those of one sample under one ordinal."""
    rows = batch_rows("jobs", ordinal=int, sample_id=str, replica=int, seed=int, turns=int)
    rank = bindparam("rank", type_=Integer())
    ready = bindparam("state", JobState.READY, type_=Text())
    return insert(JOB).from_select(
        ["dataset_id", "sample_ref", "sample_id", "ordinal", "replica", "seed", "turns", "rank", "state"],
        select(
            _DATASET, SAMPLE.c.id, rows.c.sample_id, rows.c.ordinal, rows.c.replica, rows.c.seed, rows.c.turns, rank,
            ready,
        )
        .join_from(
            rows, SAMPLE, (SAMPLE.c.dataset_id == _DATASET) & (SAMPLE.c.sample_id == rows.c.sample_id), isouter=True
        )
        .order_by(rows.c.ordinal, rows.c.replica),
    )  # fmt: skip


@cache
def new_source() -> ReturningInsert[tuple[int]]:
    """A file from which samples come."""
    return insert(SOURCE).returning(SOURCE.c.id)


@cache
def count_source() -> Update:
    """How much of a file has been read."""
    return (
        update(SOURCE)
        .where(SOURCE.c.id == _SOURCE)
        .values(rows=bindparam("rows_read", type_=Integer()), rejected=bindparam("rows_rejected", type_=Integer()))
    )


@cache
def finish_source() -> Update:
    """A file is read; its hash is null where a limit ended the reading."""
    return count_source().values(
        sha256=bindparam("file_sha256", type_=Text()), finished_ms=bindparam("at_ms", type_=Integer())
    )


@cache
def end_cut_off() -> Update:
    """Earlier files of that name whose import was cut off: this one has read what they did, so nothing of them is open.

    Their hash stays null: they were not read to their end. One that is still running closes its row again itself.
    """
    return (
        update(SOURCE)
        .where(
            SOURCE.c.dataset_id == _DATASET,
            SOURCE.c.name == bindparam("file_name", type_=Text()),
            SOURCE.c.finished_ms.is_(None),
            SOURCE.c.id < _SOURCE,
        )
        .values(finished_ms=bindparam("at_ms", type_=Integer()))
    )


@cache
def source_of_content() -> Select[tuple[int]]:
    """The sources of a dataset that are these very bytes."""
    return select(SOURCE.c.id).where(
        SOURCE.c.dataset_id == _DATASET, SOURCE.c.sha256 == bindparam("file_sha256", type_=Text())
    )


@cache
def latest_imports() -> Select[tuple[str, str]]:
    """The imports into a dataset of that number, its making and deleting, the newest first; a thousand at most."""
    named = ("imported", "dataset_created", "dataset_deleting")
    kinds = EVENT.c.kind.in_([literal_column(f"'{kind}'") for kind in named])
    return (
        select(EVENT.c.kind, EVENT.c.detail)
        .where(kinds, EVENT.c.dataset_id == _DATASET)
        .order_by(EVENT.c.id.desc())
        .limit(at_most(1000))
    )


@cache
def new_event() -> Insert:
    """A line of the audit trail."""
    return insert(EVENT)
