"""What an error of PostgreSQL means, by its SQLSTATE (PostgreSQL's appendix A). Kinds are those of faults.py."""

from app.model.errors import IntegrityFailure, ResourceExhausted, ThinkledgerError, Unavailable, UsageError

UNREACHABLE = "08001"
LOST = "08006"
UNKNOWN = "22023"  # of a transaction: its number is yet to come, so a failover has lost it
_AGAIN = frozenset({"40001", "40P01"})  # serialisation failure, deadlock: nothing was done, and the same may go through

_BY_CLASS = {
    "08": "busy",  # the connection
    "40": "busy",
    "57": "busy",  # shutdown, crash, cancelled
    "53": "busy",  # too many connections, no memory
    "58": "io",
    "XX": "io",
}
_BY_STATE = {
    "25006": "busy",  # a server that only reads: a failover
    "25P03": "busy",  # a transaction was idle for too long
    "25P04": "busy",
    "53100": "full",
    "55006": "busy",
    "55P03": "busy",  # a lock was not to be had
    "XX001": "damaged",
    "XX002": "damaged",
}
_ENDED_BEFORE = "cannot switch to state"  # asyncpg, of a connection that the server ended while nothing was asked
_REFUSED = {
    "28000": "does not let this user in",
    "28P01": "does not accept this password",
    "3D000": "has no such database: make it with createdb",
    "42501": "does not allow that to this user",
}


def kind_of(state: str) -> str:
    """The kind of an error; what is not known is the row's own fault."""
    return _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or "row"


def may_go_through(state: str) -> bool:
    """Whether the same transaction, begun anew at once, may go through."""
    return state in _AGAIN


def state_error(state: str, detail: str) -> ThinkledgerError:
    """The sentence for a person when the work is given up."""
    if detail.startswith(_ENDED_BEFORE):
        detail = "the server had ended the connection"
    if state in _REFUSED:
        return UsageError(f"The PostgreSQL server {_REFUSED[state]} ({detail}).")
    if state[:2] == "08":
        return Unavailable(f"The PostgreSQL server cannot be reached ({detail}). Try again.")
    match kind_of(state):
        case "busy":
            return Unavailable(f"The store is busy, or its PostgreSQL server is ({detail}). Try again.")
        case "full":
            return ResourceExhausted(f"The disk of the PostgreSQL server is full ({detail}). Free some space there.")
        case "io":
            return ResourceExhausted(f"The PostgreSQL server failed ({detail}). Look at its log.")
        case "damaged":
            return IntegrityFailure(f"The database is damaged ({detail}). Stop all workers and look at its log.")
        case _:
            return ThinkledgerError(f"The store refused a row ({detail}).")
