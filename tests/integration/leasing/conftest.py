"""Every test of leases runs on both kinds of stores, but those that are about files."""

from collections.abc import Iterator

import pytest

from tests.support.stores import KINDS, stores_on


@pytest.fixture(autouse=True, params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    with stores_on(request.param):
        yield request.param
