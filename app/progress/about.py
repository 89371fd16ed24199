"""Facts of the store and the program, for the foot of every page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backup:
    """The latest backup that the store knows of."""

    at_ms: int
    path: str | None
    bytes: int | None


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
    backup: Backup | None
