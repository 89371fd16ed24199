"""Every test of leases runs on both kinds of stores. Those about lock files do not, nor does the model of leases, which
has a twin in tests/integration/postgres.
"""

from collections.abc import Iterator

import pytest

from tests.support.kinds import KINDS, stores_on

ON_FILES = ("test_locks", "test_state_machine")


@pytest.fixture(autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    found = getattr(request, "param", KINDS[0])
    with stores_on(found):
        yield found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__.rsplit(".", 1)[-1] not in ON_FILES:
        metafunc.parametrize("kind", KINDS, indirect=True)
