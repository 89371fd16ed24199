"""The settings of datasets, as workers use them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.leasing import events, statements_people
from app.model.config import DatasetConfig
from app.model.errors import no_such_dataset
from app.model.ids import DatasetId
from app.store.store import Store
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class DatasetSettings:
    """One dataset with what decides how its jobs are asked."""

    id: DatasetId
    name: str
    rank: int
    max_attempts: int
    config: DatasetConfig


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """New settings of a dataset; None leaves rank or tries as they are."""

    dataset: DatasetId
    config: DatasetConfig
    rank: int | None = None
    max_attempts: int | None = None


async def all_datasets(store: Store) -> list[DatasetSettings]:
    """Every dataset, in the order of its import."""
    async with store.snapshot() as reads:
        rows = await reads.rows(statements_people.dataset_settings())
    return [
        DatasetSettings(DatasetId(row.id), row.name, row.rank, row.max_attempts, DatasetConfig.from_json(row.config))
        for row in rows
    ]


async def dataset_of(store: Store, name: str) -> DatasetSettings:
    """The dataset of that name. Raises NotFound, which lists those there are."""
    found = await all_datasets(store)
    for dataset in found:
        if dataset.name == name:
            return dataset
    raise no_such_dataset(name, sorted(dataset.name for dataset in found))


async def change_settings(tx: Tx, requests: Sequence[ChangeRequest]) -> list[None]:
    """Change settings; jobs that are claimed from now on are asked by them."""
    for request in requests:
        await tx.seq()
        row = {
            "dataset": request.dataset, "to_config": request.config.to_json(),
            "to_rank": request.rank, "to_max_attempts": request.max_attempts,
        }  # fmt: skip
        await tx.run(statements_people.change_settings(), row)
        await events.note(tx, "settings_changed", dataset=request.dataset, config=request.config.to_json())
    return [None] * len(requests)
