"""Imports of files into a store, for the tests of what they do."""

import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from sqlalchemy import ColumnElement, select

from app.intake.importing import import_file
from app.intake.request import ImportReport, ImportRequest
from app.store.store import Store, open_store
from app.store.tables import SAMPLE
from tests.support.kinds import db

ROOT = Path(__file__).parents[2]

Result = TypeVar("Result")


def in_store(folder: Path, work: Callable[[Store], Awaitable[Result]]) -> Result:
    async def opened() -> Result:
        async with open_store(db(folder / "store" / "t.db"), create=True) as store:
            return await work(store)

    (folder / "store").mkdir(exist_ok=True)
    return anyio.run(opened)


def take(folder: Path, path: Path, name: str = "d", **settings: Any) -> ImportReport:
    async def work(store: Store) -> ImportReport:
        return await import_file(store, ImportRequest(name, str(path), **settings), lambda _progress: None)

    return in_store(folder, work)


def rows_of(folder: Path, *columns: ColumnElement[Any]) -> list[tuple[Any, ...]]:
    async def work(store: Store) -> list[tuple[Any, ...]]:
        async with store.snapshot() as reads:
            return [tuple(row) for row in await reads.rows(select(*columns).order_by(columns[0].table.c.id))]

    return in_store(folder, work)


def names(folder: Path) -> list[str]:
    return [name for (name,) in rows_of(folder, SAMPLE.c.sample_id)]


def lines(*rows: Any) -> bytes:
    return b"".join(row + b"\n" if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


def prompts(texts: Iterable[str]) -> bytes:
    return lines(*({"prompt": text} for text in texts))
