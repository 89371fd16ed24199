"""Facts of the store and the program, for the foot of every page."""

import shutil
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from app.gates.health import Endpoints, endpoints_in
from app.progress import statements_workers as statements
from app.store import library, schema
from app.store.store import Store
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class About:
    """Version, sizes and free space."""

    as_of_ms: int
    seq: int
    version: str
    schema: str
    parser_version: int  # the newest that wrote readings in this store
    sqlite_version: str
    sqlite_fixed: bool  # whether it is free of the WAL-reset bug
    store_path: str
    store_bytes: int  # the file alone
    wal_bytes: int
    disk_free_bytes: int
    disk_bytes: int
    backup_ms: int | None  # when the newest backup was made
    endpoints: Endpoints


async def about(store: Store) -> About:
    """The facts of an open store. Sizes come from the file system, never from the files themselves."""
    return await store.read(lambda reads: _about(reads, store))


async def _about(reads: Reads, store: Store) -> About:
    facts = await reads.first(statements.store_facts())
    assert facts is not None
    disk = shutil.disk_usage(store.place.path.parent)
    return About(
        as_of_ms=store.now_ms(),
        seq=facts.seq,
        version=program_version(),
        schema=schema.NEWEST,
        parser_version=facts.parser_version,
        sqlite_version=".".join(map(str, library.version())),
        sqlite_fixed=library.is_fixed(),
        store_path=store.place.shown,
        store_bytes=await store.size(reads) - store.place.wal_size(),
        wal_bytes=store.place.wal_size(),
        disk_free_bytes=disk.free,
        disk_bytes=disk.total,
        backup_ms=facts.backup_ms,
        endpoints=await endpoints_in(reads, store.now_ms(), store.place.workers),
    )


@cache
def program_version() -> str:
    """The version of this program; it is read from a file."""
    return version("thinkledger")
