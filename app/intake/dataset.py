"""The dataset that an import adds to: made where it is absent, else found with the settings that were said."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.intake import statements
from app.intake.known import CREATED
from app.intake.request import ImportRequest
from app.model.config import DatasetConfig
from app.model.errors import UsageError
from app.model.ids import DatasetId
from app.store.store import Store
from app.store.transaction import Tx

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Target:
    """The dataset that takes the rows."""

    id: DatasetId | None  # None: there is none of that name yet
    rank: int
    config: DatasetConfig  # as stored: what a result is read by


def check_name(name: str) -> None:
    """Refuse a name that could not be a file's name or part of a URL."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a dataset's name: it takes 1 to 100 letters, digits, dots, dashes and "
            "underscores, and begins with a letter or a digit."
        )


async def find(store: Store, request: ImportRequest) -> Target:
    """The dataset of a request. One that is not there is made with its first sample, never for rejects alone."""
    async with store.snapshot() as reads:
        found = await reads.first(statements.dataset_named(), {"name": request.dataset})
    if found is None:
        return Target(None, request.rank or 0, DatasetConfig().changed(**request.settings))
    return _found(found, request)


def _found(row: Any, request: ImportRequest) -> Target:
    stored, max_attempts, rank = DatasetConfig.from_json(row.config), int(row.max_attempts), int(row.rank)
    refuse_other_settings(request, stored, max_attempts)
    return Target(DatasetId(row.id), rank if request.rank is None else request.rank, stored)


async def find_or_create(tx: Tx, request: ImportRequest) -> DatasetId:
    """The dataset that takes the first sample; another import may have made it meanwhile."""
    found = await tx.first(statements.dataset_named(), {"name": request.dataset})
    if found is not None:
        dataset = _found(found, request).id
        assert dataset is not None
        return dataset
    await tx.seq()
    row = {
        "name": request.dataset,
        "created_ms": tx.now_ms,
        "config": DatasetConfig().changed(**request.settings).to_json(),
        "max_attempts": request.max_attempts or _MAX_ATTEMPTS,
        "rank": request.rank or 0,
    }
    dataset = DatasetId(int(await tx.value(statements.new_dataset(), row)))
    event = {
        "at_ms": tx.now_ms,
        "kind": CREATED,
        "dataset_id": dataset,
        "detail": json.dumps({"name": request.dataset}),
    }
    await tx.run(statements.new_event(), event)
    return dataset


def refuse_other_settings(request: ImportRequest, stored: DatasetConfig, max_attempts: int) -> None:
    """Settings belong to the dataset: one that is said again must be the stored one."""
    samples = request.said.get("samples")
    if samples is not None and samples != stored.samples:
        raise UsageError(
            f"Dataset {request.dataset} has {stored.samples} answers a prompt, and this import says {samples}. That "
            "is settled when a dataset is made: import into a dataset of another name."
        )
    different = list(_different(request, stored, max_attempts))
    if different:
        raise UsageError(
            f"Dataset {request.dataset} exists with other settings: {'; '.join(different)}. Leave them out, "
            f"or change the dataset first with `thinkledger datasets set {request.dataset}`."
        )


def _different(request: ImportRequest, stored: DatasetConfig, max_attempts: int) -> Iterator[str]:
    said: dict[str, Any] = {**request.settings, "max_attempts": request.max_attempts}
    for name, value in said.items():
        has = max_attempts if name == "max_attempts" else getattr(stored, name)
        if value is not None and value != has:
            yield f"{name} is {_shown(has)}, this import says {_shown(value)}"


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)
