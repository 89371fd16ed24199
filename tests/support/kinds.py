"""Where a test's store lies: in a file, or for the tests that run on both in a database of a PostgreSQL server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.store.address import is_address

KINDS = ("sqlite", "postgresql")

_kind = "sqlite"


def db(path: Path | str) -> str:
    """What `--db` is for the store that a test names by a path."""
    if _kind == "sqlite" or is_address(str(path)):
        return str(path)
    from tests.support.postgres import server

    return server().url_of(str(path))


def kind() -> str:
    """On what the test runs now."""
    return _kind


def summed(table: str) -> str:
    """The table that holds the rows of such sums: on a server the name is that of a view on them."""
    return table if _kind == "sqlite" else f"{table}_slot"


@contextmanager
def stores_on(kind: str) -> Iterator[None]:
    """Let every store be of that kind."""
    global _kind
    before, _kind = _kind, kind
    try:
        if kind == "postgresql":
            with _on_server():
                yield
        else:
            yield
    finally:
        _kind = before


@contextmanager
def _on_server() -> Iterator[None]:
    """The stores that are made meanwhile are gone afterwards."""
    from tests.support.postgres import server

    running = server()  # or the test is skipped here, with the reason
    before = set(running.urls)
    yield
    for path in running.urls.keys() - before:
        running.drop(path)


def as_counted(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest without the store's number where it is a server's, which counts what is written elsewhere too."""
    if _kind == "sqlite":
        return manifest
    return manifest | {"store": manifest["store"] | {"seq": None}}
