"""What a database error means for the work that met it."""

from enum import StrEnum
from typing import Any

from sqlalchemy.exc import DBAPIError

from app.model.errors import IntegrityFailure, ResourceExhausted, ThinkledgerError, Unavailable
from app.store import sqlstates


class Fault(StrEnum):
    """The kinds of database errors that are treated differently."""

    ROW = "row"  # a constraint or a value: the row's own fault, its neighbours are fine
    BUSY = "busy"  # another process holds the lock
    FULL = "full"  # no space left
    IO = "io"  # the disk failed
    DAMAGED = "damaged"  # the file is no longer a sound database


_BY_NAME = {
    "SQLITE_BUSY": Fault.BUSY,
    "SQLITE_LOCKED": Fault.BUSY,
    "SQLITE_FULL": Fault.FULL,
    "SQLITE_IOERR": Fault.IO,
    "SQLITE_CANTOPEN": Fault.IO,
    "SQLITE_READONLY": Fault.IO,
    "SQLITE_PROTOCOL": Fault.BUSY,
    "SQLITE_CORRUPT": Fault.DAMAGED,
    "SQLITE_NOTADB": Fault.DAMAGED,
}


def classify(error: DBAPIError | OverflowError | UnicodeEncodeError) -> Fault:
    """The kind of `error`; what is not known by name is the row's own fault."""
    if (state := _sqlstate(error)) is not None:
        return Fault(sqlstates.kind_of(state))
    return _classify(str(getattr(getattr(error, "orig", None), "sqlite_errorname", "")), error)


def classify_driver(error: BaseException) -> Fault:
    """The same for an error of SQLite's module itself."""
    return _classify(str(getattr(error, "sqlite_errorname", "")), error)


def _classify(name: str, error: BaseException) -> Fault:
    for prefix, fault in _BY_NAME.items():
        if name.startswith(prefix):
            return fault
    message = str(error).lower()
    if "database is locked" in message:
        return Fault.BUSY
    if "disk is full" in message:
        return Fault.FULL
    if "malformed" in message or "not a database" in message:
        return Fault.DAMAGED
    return Fault.IO if "disk i/o" in message else Fault.ROW


def _sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE of an error of PostgreSQL; None for one of SQLite."""
    orig: Any = getattr(error, "orig", None)
    if not hasattr(orig, "sqlstate"):
        return None
    lost = sqlstates.LOST if getattr(error, "connection_invalidated", False) else ""
    return str(orig.sqlstate or lost)


def as_error(fault: Fault, cause: BaseException) -> ThinkledgerError:
    """The sentence for a person when the work is given up because of `fault`."""
    detail = str(getattr(cause, "orig", None) or cause)
    if (state := _sqlstate(cause)) is not None:
        return sqlstates.state_error(state, detail)
    match fault:
        case Fault.BUSY:
            return Unavailable(f"The store is busy: another process holds its lock ({detail}). Try again.")
        case Fault.FULL:
            return ResourceExhausted(f"The disk of the store is full ({detail}). Free some space and try again.")
        case Fault.IO:
            return ResourceExhausted(f"The disk of the store failed ({detail}). Check it, then `thinkledger verify`.")
        case Fault.DAMAGED:
            return IntegrityFailure(f"The store is damaged ({detail}). Stop all workers and restore a backup.")
        case Fault.ROW:
            return ThinkledgerError(f"The store refused a row ({detail}).")
