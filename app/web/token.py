"""The token of a store's dashboard: 32 random bytes in a file that only its owner can read."""

import os
import secrets
import stat
from pathlib import Path

from app.model.errors import NotFound, Refused, UsageError

SHORTEST = 16  # characters of a token that a person brings


def token_file(store: Path) -> Path:
    """Where the token of a store lies."""
    return store.with_name(store.name + ".token")


def make_or_read(path: Path) -> str:
    """The token in the file; a missing file is made."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read(path)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        token = secrets.token_hex(32)
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    return token


def read(path: Path) -> str:
    """The token in an existing file; refused when others could have read it."""
    if not path.exists():
        raise NotFound(f"There is no token file {path}.")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{path} can be read by others. Run `chmod 600 {path}`, or delete it for a new token.")
    return check(path.read_text(encoding="utf-8", errors="replace").strip(), str(path))


def check(token: str, where: str) -> str:
    """A token that can stand in a header and cannot be guessed."""
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{where} holds no token: it takes at least {SHORTEST} ASCII characters without blanks.")
    return token
