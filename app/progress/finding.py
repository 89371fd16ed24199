"""A dataset by its name, or an error that lists the names there are."""

from app.model.errors import NotFound
from app.model.ids import DatasetId
from app.progress import statements
from app.store.transaction import Reads

_LISTED = 20


async def dataset_named(reads: Reads, name: str) -> DatasetId:
    """The number of a dataset."""
    found = await reads.first(statements.dataset_named(), {"name": name})
    if found is None:
        raise no_such_dataset(name, [str(row.name) for row in await reads.rows(statements.names())])
    return DatasetId(found.id)


def no_such_dataset(name: str, names: list[str]) -> NotFound:
    """What to say when nothing has that name."""
    if not names:
        return NotFound(f"There is no dataset {name!r}: the store is empty. `thinkledger import NAME FILE` makes one.")
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return NotFound(f"There is no dataset {name!r}. There are: {', '.join(names[:_LISTED])}{more}.")
