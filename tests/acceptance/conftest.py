"""Whole processes: a product in a folder of its own."""

from pathlib import Path

import pytest

from tests.support.product import Product


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)
