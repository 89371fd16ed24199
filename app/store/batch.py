"""Many rows as one parameter, so that a statement for 64 rows is one statement, one plan and one compiled form.

SQLite reads the rows from a JSON array; app.store.postgres.dialect has the same in PostgreSQL's words.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Integer, Subquery, Text, bindparam, func, select
from sqlalchemy.types import TypeEngine

_TYPES: dict[type, TypeEngine[Any]] = {int: Integer(), str: Text()}


class Rows(Text):
    """The type of such a parameter."""


def batch_rows(name: str, /, **columns: type[int] | type[str]) -> Subquery:
    """The rows bound as parameter `name`, with the given columns; bind them by `bind_rows` in the same order."""
    each = func.json_each(bindparam(name, type_=Rows())).table_valued("value", name=f"{name}_each")
    return select(
        *(
            func.json_extract(each.c.value, f"$[{place}]", type_=_TYPES[kind]).label(column)
            for place, (column, kind) in enumerate(columns.items())
        )
    ).subquery(name)


def bind_rows(rows: Iterable[Sequence[int | str | None]]) -> str:
    """The value of the parameter of `batch_rows`. Texts must be free of lone surrogates."""
    return msgspec.json.encode([list(row) for row in rows]).decode()
