"""A dataset by its name, or an error that lists the names there are."""

from app.model.errors import no_such_dataset
from app.model.ids import DatasetId
from app.progress import statements
from app.store.transaction import Reads


async def dataset_named(reads: Reads, name: str) -> DatasetId:
    """The number of a dataset."""
    found = await reads.first(statements.dataset_named(), {"name": name})
    if found is None:
        raise no_such_dataset(name, [str(row.name) for row in await reads.rows(statements.names())])
    return DatasetId(found.id)
