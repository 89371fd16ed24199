"""The fault drill patches the product from outside: what it names must be there."""

import pytest

from tests.drill import patching
from tests.drill.points import CALLS, OPERATIONS


@pytest.mark.parametrize("target", sorted({*OPERATIONS.values(), *CALLS.values()}))
def test_a_point_of_the_drill_is_a_function_of_the_product(target: str) -> None:
    assert callable(patching.find(target))
