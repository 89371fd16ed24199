"""Whole processes: a product in a folder of its own."""

from pathlib import Path

import pytest

from tests.support.product import Product

HANGS_S = 300  # whole processes, three or four tests side by side: what takes ten seconds alone may take a minute


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that says nothing of its own is taken for hanging later here than elsewhere."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(HANGS_S))


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)
