"""A line in the store about each exported file: what `datasets delete` relies on."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.export.census import Census
from app.export.request import ExportRequest
from app.export.sink import Written
from app.leasing import events
from app.store.store import Store
from app.store.transaction import Tx

EXPORTED = "exported"


@dataclass(frozen=True, slots=True)
class _Record:
    request: ExportRequest
    census: Census
    written: Written


async def record(store: Store, request: ExportRequest, census: Census, written: Written) -> None:
    """Note that a file holds the answers as of the census; one that a limit cut short is noted as such."""
    await store.write(_note, _Record(request, census, written))


async def _note(tx: Tx, records: Sequence[_Record]) -> list[None]:
    """Without a new seq: nothing that an export or a page shows as of a seq has changed."""
    for one in records:
        assert one.request.target is not None
        await events.note(
            tx, EXPORTED, dataset=one.census.dataset, file=str(one.request.target.absolute()), seq=one.census.seq,
            only=str(one.request.only), limited=int(one.request.limit is not None), rows=one.written.rows,
            bytes=one.written.bytes, sha256=one.written.sha256,
        )  # fmt: skip
    return [None] * len(records)
