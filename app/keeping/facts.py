"""What the doctor asks a store beside its progress."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.keeping import statements
from app.store.soundness import complaints, server_version
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """A store at one moment."""

    complaints: Sequence[str]  # of SQLite's quick check
    parser_version: int
    created_ms: int
    newest_ms: int | None  # the newest sign of life of any worker
    backup_seq: int | None
    worked_since_backup: bool  # something was written after the newest backup, beside its own note
    server_version: str | None  # None where the store is a file


async def store_facts(store: Store) -> StoreFacts:
    """All from one snapshot."""
    async with store.snapshot() as reads:
        meta = await reads.first(statements.meta())
        assert meta is not None
        return StoreFacts(
            complaints=await complaints(reads, full=False),
            parser_version=meta.parser_version,
            created_ms=meta.created_ms,
            newest_ms=await reads.value(statements.newest_heartbeat()),
            backup_seq=meta.backup_seq,
            worked_since_backup=meta.backup_seq is None or meta.seq > meta.backup_seq + 1,
            server_version=await server_version(reads),
        )
