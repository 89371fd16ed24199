"""Stores on the tests' own server."""

from collections.abc import Iterator

import pytest

from tests.support.kinds import stores_on
from tests.support.postgres import Server, server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def on_server() -> Iterator[Server]:
    """The server, on which every store of the test lies."""
    with stores_on("postgresql"):
        yield server()
