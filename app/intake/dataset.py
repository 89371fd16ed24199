"""The dataset that an import adds to: made where it is absent, else found with the settings that were said."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.intake import statements
from app.intake.request import ImportRequest
from app.model.config import DatasetConfig
from app.model.errors import UsageError
from app.model.ids import DatasetId
from app.store.transaction import Tx

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Target:
    """The dataset that takes the rows."""

    id: DatasetId
    rank: int
    created: bool
    config: DatasetConfig  # as stored: what a result is read by


def check_name(name: str) -> None:
    """Refuse a name that could not be a file's name or part of a URL."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a dataset's name: it takes 1 to 100 letters, digits, dots, dashes and "
            "underscores, and begins with a letter or a digit."
        )


async def prepare(tx: Tx, requests: Sequence[ImportRequest]) -> list[Target]:
    """The dataset of each request; the operation for `Store.write`."""
    return [await _prepare(tx, request) for request in requests]


async def _prepare(tx: Tx, request: ImportRequest) -> Target:
    found = await tx.first(statements.dataset_named(), {"name": request.dataset})
    if found is None:
        return await _create(tx, request)
    stored, max_attempts, rank = DatasetConfig.from_json(found.config), int(found.max_attempts), int(found.rank)
    refuse_other_settings(request, stored, max_attempts)
    return Target(DatasetId(found.id), rank if request.rank is None else request.rank, False, stored)


async def _create(tx: Tx, request: ImportRequest) -> Target:
    await tx.seq()
    rank = request.rank or 0
    config = DatasetConfig().changed(**request.said)
    row = {
        "name": request.dataset,
        "created_ms": tx.now_ms,
        "config": config.to_json(),
        "max_attempts": request.max_attempts or _MAX_ATTEMPTS,
        "rank": rank,
    }
    dataset = DatasetId(int(await tx.value(statements.new_dataset(), row)))
    event = {
        "at_ms": tx.now_ms,
        "kind": "dataset_created",
        "dataset_id": dataset,
        "detail": json.dumps({"name": request.dataset}),
    }
    await tx.run(statements.new_event(), event)
    return Target(dataset, rank, True, config)


def refuse_other_settings(request: ImportRequest, stored: DatasetConfig, max_attempts: int) -> None:
    """Settings belong to the dataset: one that is said again must be the stored one."""
    different = list(_different(request, stored, max_attempts))
    if different:
        raise UsageError(
            f"Dataset {request.dataset} exists with other settings: {'; '.join(different)}. Leave them out, "
            f"or change the dataset first with `thinkledger datasets set {request.dataset}`."
        )


def _different(request: ImportRequest, stored: DatasetConfig, max_attempts: int) -> Iterator[str]:
    said: dict[str, Any] = {**request.said, "max_attempts": request.max_attempts}
    for name, value in said.items():
        has = max_attempts if name == "max_attempts" else getattr(stored, name)
        if value is not None and value != has:
            yield f"{name} is {_shown(has)}, this import says {_shown(value)}"


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)
