"""Lists of samples: a page costs the same wherever it lies and whatever it filters, since its search is bounded."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, Subquery, Text, and_, bindparam, or_, select, tuple_, union_all

from app.model.found import Found
from app.progress.filters import Drive, Way
from app.store.tables import JOB, RESPONSE

_COLUMNS = (
    JOB.c.id, JOB.c.sample_id, JOB.c.ordinal, JOB.c.replica, JOB.c.state, JOB.c.attempt, JOB.c.tries, JOB.c.cause,
    JOB.c.finished_ms, JOB.c.verdict, JOB.c.finish_reason, JOB.c.found, JOB.c.reasoning_chars, JOB.c.content_chars,
    JOB.c.completion_tokens, JOB.c.latency_ms, JOB.c.preview, JOB.c.loss_flags, JOB.c.lease_worker,
)  # fmt: skip


def _int(name: str) -> Any:
    return bindparam(name, type_=Integer())


def _text(name: str) -> Any:
    return bindparam(name, type_=Text())


def _key(drive: Drive) -> tuple[str, str]:
    """What the order of a list goes by: the place of a row is its values of these two."""
    match drive:
        case Drive.ID:
            return "sample_id", "replica"
        case Drive.FINISHED:
            return "finished_ms", "id"
        case Drive.REASONING:
            return "reasoning_chars", "id"
        case _:
            return "ordinal", "replica"


def _range(drive: Drive, way: Way) -> tuple[ColumnElement[bool], ...]:
    """The part of the index that is read, without the end that it is read from: that is the place."""
    match drive:
        case Drive.STATE:
            return (JOB.c.state == _text("state"),)
        case Drive.VERDICT:
            return (JOB.c.verdict == _text("verdict"),)
        case Drive.CELL:
            return JOB.c.finish_reason == _text("finish"), JOB.c.found == _text("found")
        case Drive.FINISH:
            return (JOB.c.finish_reason == _text("finish"),)
        case Drive.CAUSE:
            return (JOB.c.cause == _text("cause"),)
        case Drive.FLAG:
            return (JOB.c.loss_flags.is_not(None),)
        case Drive.ID | Drive.FINISHED | Drive.REASONING:
            major = JOB.c[_key(drive)[0]]
            bound = bindparam("bound", type_=major.type)
            return (major < bound if way is Way.UP else major >= bound,)
        case Drive.ALL:
            return ()


def _behind(drive: Drive, way: Way) -> tuple[ColumnElement[bool], ...]:
    """The rows behind the place, as one range of the index, or as two that follow each other."""
    major, minor = (JOB.c[name] for name in _key(drive))
    at_major, at_minor = bindparam("major", type_=major.type), bindparam("minor", type_=minor.type)
    up = way is Way.UP
    if drive in (Drive.FINISHED, Drive.REASONING):  # SQLite compares no pair whose second value is the row's own id
        return and_(major == at_major, minor > at_minor if up else minor < at_minor), (
            major > at_major if up else major < at_major
        )
    pair, place = tuple_(major, minor), tuple_(at_major, at_minor)
    return (pair > place if up else pair < place,)


def _candidates(drive: Drive, way: Way) -> Subquery:
    """The rows behind the place in the part of the index, at most as many as one page may search."""
    rows = select(*_COLUMNS).where(JOB.c.dataset_id == _int("dataset"), *_range(drive, way))
    ranges = [rows.where(behind) for behind in _behind(drive, way)]
    if drive is Drive.FINISH:
        ranges = [
            one.where(JOB.c.found == bindparam(f"found_{found}", str(found))) for one in ranges for found in Found
        ]
    several = ranges[0] if len(ranges) == 1 else union_all(*ranges)  # merged in their order, without sorting
    order = [several.selected_columns[name] for name in _key(drive)]
    ordered = several.order_by(*(column if way is Way.UP else column.desc() for column in order))
    return ordered.limit(_int("searched")).subquery("candidates")


def _fits(found: Subquery) -> tuple[ColumnElement[bool], ...]:
    """The whole filter; what is null lets everything through."""
    column = found.c
    equal = {
        "state": column.state, "verdict": column.verdict, "finish": column.finish_reason, "cause": column.cause,
        "found": column.found,
    }  # fmt: skip
    brought = select(RESPONSE.c.id).where(
        RESPONSE.c.job_id == column.id,
        RESPONSE.c.accepted_seq.is_not(None),
        RESPONSE.c.superseded_seq.is_(None),
        RESPONSE.c.worker_id == _int("any_worker"),
    )
    return (
        *(or_(_text(f"any_{name}").is_(None), one == _text(f"any_{name}")) for name, one in equal.items()),
        or_(_text("any_flag").is_(None), column.loss_flags.contains(_text("any_flag"))),
        or_(_text("any_q").is_(None), and_(column.sample_id >= _text("any_q"), column.sample_id < _text("q_end"))),
        *_limited(column.reasoning_chars, least="min_reasoning", most="max_reasoning"),
        or_(_int("any_attempt_gt").is_(None), column.attempt > _int("any_attempt_gt")),
        or_(_int("any_since").is_(None), column.finished_ms >= _int("any_since")),
        or_(_int("any_until").is_(None), column.finished_ms < _int("any_until")),
        or_(_int("any_worker").is_(None), column.lease_worker == _int("any_worker"), brought.exists()),
    )


def _limited(column: Any, *, least: str, most: str) -> tuple[ColumnElement[bool], ...]:
    return (
        or_(_int(f"any_{least}").is_(None), column >= _int(f"any_{least}")),
        or_(_int(f"any_{most}").is_(None), column <= _int(f"any_{most}")),
    )


@cache
def listed(drive: Drive, way: Way) -> Select[Any]:
    """The first rows behind a place that fit the filter, in the order of the index that is read."""
    found = _candidates(drive, way)
    # The rows come in the order of the subquery, which SQLite runs as a co-routine; sorting them again would read all.
    return select(found).where(*_fits(found)).limit(_int("limit"))


@cache
def searched_to(drive: Drive, way: Way) -> Select[Any]:
    """The place of the last row that one page searches; none where it searched all there are."""
    found = _candidates(drive, way)
    major, minor = (found.c[name] for name in _key(drive))
    return select(major.label("major"), minor.label("minor")).offset(_int("searched") - 1).limit(1)
