"""The rows of a store in an order that both kinds of stores have, page by page, in bounded memory."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, Table, bindparam, func, select, tuple_

from app.store.tables import BODY, FAILURE, META, METADATA, READING, SAMPLE, TOKEN_IDS

TABLES: tuple[Table, ...] = tuple(table for table in METADATA.sorted_tables if table is not META)
PAGE = 1000
LONG_PAGE = 32  # of tables whose rows may have megabytes
_LONG = {SAMPLE, BODY, READING, TOKEN_IDS, FAILURE}

Row = Sequence[Any]
Key = tuple[Any, ...]


def key_of(table: Table) -> list[Column[Any]]:
    """The columns that its rows are ordered by."""
    return list(table.primary_key.columns)


def count(connection: Connection, table: Table) -> int:
    """How many rows a table has."""
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def page(connection: Connection, table: Table, after: Key | None) -> Sequence[Row]:
    """The rows whose keys come next after `after`, or the first ones."""
    key = key_of(table)
    wanted = select(table).order_by(*key).limit(LONG_PAGE if table in _LONG else PAGE)
    if after is not None:
        bound = [bindparam(f"after_{place}", type_=column.type) for place, column in enumerate(key)]
        wanted = wanted.where(tuple_(*key) > tuple_(*bound) if len(key) > 1 else key[0] > bound[0])
    params = {f"after_{place}": value for place, value in enumerate(after or ())}
    return connection.execute(wanted, params).all()


def key_in(table: Table, row: Row) -> Key:
    """The key of a row."""
    return tuple(row[place] for place, column in enumerate(table.columns) if column.primary_key)


def last_key(connection: Connection, table: Table) -> Key | None:
    """The greatest key of a table; None where it has no rows."""
    key = key_of(table)
    row = connection.execute(select(*key).order_by(*(column.desc() for column in key)).limit(1)).first()
    return None if row is None else tuple(row)


def weight(rows: Sequence[Row]) -> int:
    """About how many bytes rows take."""
    return sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))


@dataclass(slots=True)
class Digests:
    """A hash of each column of a table, over its values in the order of the keys."""

    table: Table
    rows: int = 0
    _hashes: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._hashes = {column.name: hashlib.sha256() for column in self.table.columns}

    def take(self, rows: Sequence[Row]) -> None:
        """Go on with these rows. Two of these are equal where they were given the same pages."""
        self.rows += len(rows)
        for place, hashed in enumerate(self._hashes.values()):
            hashed.update(msgspec.msgpack.encode([row[place] for row in rows]))

    def columns(self) -> dict[str, str]:
        return {name: hashed.hexdigest() for name, hashed in self._hashes.items()}

    def differing(self, other: "Digests") -> Iterator[str]:
        """The columns that are not the same in the other."""
        theirs = other.columns()
        yield from (name for name, digest in self.columns().items() if theirs[name] != digest)
