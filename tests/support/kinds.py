"""Where a test's store lies: in a file, or for the tests that run on both in a database of a PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KINDS = ("sqlite", "postgresql")

_kind = "sqlite"


def db(path: Path | str) -> str:
    """What `--db` is for the store that a test names by a path."""
    if _kind == "sqlite":
        return str(path)
    from tests.support.postgres import server

    return server().url_of(str(path))


def kind() -> str:
    """On what the test runs now."""
    return _kind


@contextmanager
def stores_on(kind: str) -> Iterator[None]:
    """Let every store be of that kind."""
    global _kind
    before, _kind = _kind, kind
    try:
        if kind == "postgresql":
            from tests.support.postgres import server

            server()  # or the test is skipped here, with the reason
        yield
    finally:
        _kind = before
