"""What is different where the store allows more than one writer at a time, said beside what it is about.

On SQLite every transaction is alone, and nothing here is looked at. On PostgreSQL one is alone too, unless all of its
operations are marked: what workers do all the time, and what was looked at for it (docs/decisions/0040).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, FromClause, Select, func, literal_column, select
from sqlalchemy.sql.base import Executable

Operation = TypeVar("Operation", bound=Callable[..., Any])
Statement = TypeVar("Statement", bound=Executable)


class Beside(NamedTuple):
    """What is run beside other writers: a statement that takes a lock first, another one instead."""

    first: Executable | None
    instead: Executable | None


_MARKED: set[Callable[..., Any]] = set()
_BESIDE: dict[Executable, Beside] = {}


def beside_others(operation: Operation) -> Operation:
    """Mark an operation: it is right whatever other marked ones do at the same time."""
    _MARKED.add(operation)
    return operation


def may_be_beside(operation: Callable[..., Any]) -> bool:
    """Whether an operation is marked."""
    return operation in _MARKED


def on_servers(
    statement: Statement, *, first: Executable | None = None, instead: Executable | None = None
) -> Statement:
    """The statement; beside other writers `first` is run before it, with its parameters, or `instead` in its place."""
    _BESIDE[statement] = Beside(first, instead)
    return statement


def beside(statement: Executable) -> Beside | None:
    """What was said about a statement."""
    return _BESIDE.get(statement)


def only_one_at(rows: FromClause, *key: ColumnElement[int]) -> Select[Any]:
    """A lock, to the transaction's end, on what each row's key names; taken in the order of the keys."""
    in_order = select(*key).select_from(rows).distinct().order_by(*key).subquery()
    name = func.concat_ws(literal_column("' '"), *in_order.c)
    return select(func.pg_advisory_xact_lock(func.hashtextextended(name, literal_column("0")))).select_from(in_order)
