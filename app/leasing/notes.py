"""The audit trail of what a person does beside the moves of jobs and holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.leasing import events
from app.model.ids import DatasetId
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the trail."""

    kind: str
    dataset: DatasetId | None
    detail: Mapping[str, str | int]


async def note_action(tx: Tx, notes: Sequence[Note]) -> list[None]:
    """Keep the lines; the operation for `Store.write`."""
    for note in notes:
        await tx.seq()
        await events.note(tx, note.kind, dataset=note.dataset, worker=None, **note.detail)
    return [None] * len(notes)
