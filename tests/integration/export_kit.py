"""Stores and files for the tests of exports."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.export.naming import manifest_of
from app.store.store import Store
from app.store.transaction import Tx
from tests.support.filled import LOST, Filled, chat, thought


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest_of(path).read_text())
    return found


def left_by_exports(folder: Path) -> list[Path]:
    return list(folder.glob("d.jsonl*"))


async def change(store: Store, statement: Any) -> None:
    """Do to the store what only an accident would."""

    async def operation(tx: Tx, asked: Sequence[Any]) -> list[None]:
        await tx.seq()
        for one in asked:
            await tx.run(one)
        return [None] * len(asked)

    await store.write(operation, statement)


async def mixed(at: Filled) -> None:
    """Twelve jobs: three captured, one of each loss, one failed, one leased, four ready."""
    await at.dataset("d", 12)
    with_field = chat("answer 3", reasoning="think 3")
    await at.answer_next("d", thought(1), thought(2), with_field, *LOST.values())
    (lease,) = await at.claim(1)
    await at.fail(lease)
    await at.claim(1)
