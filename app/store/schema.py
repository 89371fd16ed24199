"""The schema's version: made on an empty store, checked on every other."""

from sqlalchemy import Connection, column, inspect, select, table, update

from app.model.errors import IntegrityFailure, Refused, UsageError

NEWEST = "0002"  # of this program; a test holds it against the migrations
BEING_FILLED = "being filled"  # by a copy that is not at its end
_VERSION = table("alembic_version", column("version_num"))


def present(connection: Connection) -> str | None:
    """The schema version of the store, or None where there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(select(_VERSION.c.version_num)).scalar()
    return None if version is None else str(version)


def mark(connection: Connection, version: str) -> None:
    """Let the store have this version."""
    connection.execute(update(_VERSION).values(version_num=version))


def is_ours(connection: Connection) -> bool:
    """Whether the store has this program's own schema."""
    return present(connection) == NEWEST


def ensure(connection: Connection) -> bool:
    """Make the schema on an empty store (True then); on any other, refuse a version that is not ours.

    The caller holds the write lock, so of several processes that start at once one makes it and the others find it.
    """
    found = present(connection)
    if found is None and not inspect(connection).get_table_names():
        from app.store.migrations import upgrade

        upgrade(connection)
        return True
    refuse_other(found)
    return False


def refuse_other(found: str | None) -> None:
    """Refuse every schema version but this program's own, naming the way out."""
    if found == NEWEST:
        return
    refuse_unknown(found)
    raise UsageError(
        f"The store has the older schema {found}; this version needs {NEWEST}. "
        "Stop all workers, then upgrade it with `thinkledger migrate`."
    )


def refuse_unknown(found: str | None) -> None:
    """Refuse a version that this program can neither use nor upgrade."""
    if found is None:
        raise IntegrityFailure("The store has tables but no schema version. Restore it from a backup.")
    if found == BEING_FILLED:
        raise Refused("The store is not whole: `thinkledger copy` fills it, or was cut off. Type that again to go on.")
    from app.store.migrations import known

    if found == NEWEST or found in known():
        return
    raise UsageError(
        f"The store has the schema {found}, which is newer than this version knows ({NEWEST}). "
        "Upgrade thinkledger on this machine."
    )
