"""Which database `--db postgresql://...` names, and what of it may be shown."""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from app.model.errors import UsageError

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Address:
    """A database: the words it is reached by, which may hold a password, and those that may be shown."""

    dsn: str
    shown: str

    @property
    def beside(self) -> Path:
        """Where this host keeps what lies beside a store's file elsewhere: locks of workers, spool, token."""
        state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        name = hashlib.sha256(self.shown.encode()).hexdigest()[:12]
        database = "".join(sign if sign.isalnum() else "-" for sign in self.shown.rsplit("/", 1)[-1])
        return Path(state).expanduser().resolve() / "thinkledger" / f"{database}-{name}" / "store"


def is_address(db: str) -> bool:
    """Whether `--db` names a database of a server."""
    return db.startswith(SCHEMES)


def address_of(db: str) -> Address:
    """The database that a URL names. Raises UsageError for one that names none, without a word of it."""
    try:
        parts = urlsplit(db)
        port = parts.port
    except ValueError:
        raise UsageError("--db postgresql://...: that is no URL. Give postgresql://USER@HOST:PORT/DATABASE.") from None
    database = unquote(parts.path.removeprefix("/"))
    if not database:
        raise UsageError("--db postgresql://... names no database. Give postgresql://USER@HOST:PORT/DATABASE.")
    host = parts.hostname or parse_qs(parts.query).get("host", ["localhost"])[0]
    return Address(db, f"postgresql://{host}:{port or parse_qs(parts.query).get('port', ['5432'])[0]}/{database}")


def need_driver() -> None:
    """Raise where asyncpg is not installed, naming the extra that brings it."""
    if importlib.util.find_spec("asyncpg") is None:
        raise UsageError("--db postgresql://... needs asyncpg: pip install 'thinkledger[postgres]'.")
