"""A folder with a store of its own for each test that runs commands."""

from pathlib import Path

import pytest

from tests.support.product import Product


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)
