"""A line in the store about each exported file: what `datasets delete` relies on."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.export.census import Census
from app.export.hashing import Written
from app.export.naming import finals
from app.export.request import ExportRequest
from app.export.walk import Walked
from app.leasing import events
from app.store.store import Store
from app.store.transaction import Tx

EXPORTED = "exported"


@dataclass(frozen=True, slots=True)
class _Record:
    request: ExportRequest
    census: Census
    written: Written
    limited: bool


async def record(store: Store, request: ExportRequest, census: Census, walked: Walked, written: Written) -> None:
    """Note that a file holds the answers as of the census; one without answers that were asked for is noted as such."""
    cut = request.limit is not None or bool(walked.unfit)
    await store.write(_note, _Record(request, census, written, cut))


async def _note(tx: Tx, records: Sequence[_Record]) -> list[None]:
    """Without a new seq: nothing that an export or a page shows as of a seq has changed."""
    for one in records:
        target, written = one.request.target, one.written
        assert target is not None
        await events.note(
            tx, EXPORTED, dataset=one.census.dataset, file=str(target.absolute()), seq=one.census.seq,
            only=str(one.request.only), limited=int(one.limited), rows=written.rows,
            bytes=written.bytes, sha256=written.sha256, shards=_shards(one.request, written),
        )  # fmt: skip
    return [None] * len(records)


def _shards(request: ExportRequest, written: Written) -> list[list[str | int]]:
    """Each shard with its size."""
    if request.shard_size is None or request.target is None:
        return []
    paths = finals(request.target.absolute(), len(written.pieces), sharded=True)
    return [[str(path), piece.bytes] for path, piece in zip(paths, written.pieces, strict=True)]
