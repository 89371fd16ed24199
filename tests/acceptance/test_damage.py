"""A store that was cut or spoiled is refused loudly, with exit 8, and nothing is written over."""

import os
from pathlib import Path

import pytest

from tests.integration.keeping.kit import make_filled
from tests.integration.store import raw
from tests.support.product import Product

WORKER = ("worker", "start", "--endpoint", "http://127.0.0.1:9", "--skip-preflight", "--until-empty")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


@pytest.mark.parametrize("arguments", [("status",), WORKER, ("restore", "thinkledger.db", "--db", "other.db")])
def test_a_file_that_was_cut_is_refused_before_it_is_opened(product: Product, arguments: tuple[str, ...]) -> None:
    make_filled(product.db)
    cut(product.db)
    before = product.db.read_bytes()
    assert b"is cut off" in product.run(*arguments, code=8).stderr
    assert product.db.read_bytes() == before
    assert [path.name for path in product.folder.glob("*.db")] == ["thinkledger.db"]


@pytest.mark.parametrize("arguments", [("verify",), ("backup", "copy.db"), WORKER])
def test_a_page_of_garbage_in_the_middle_is_found(product: Product, arguments: tuple[str, ...]) -> None:
    make_filled(product.db)
    raw.spoil(product.db, ["job"])
    before = product.db.stat().st_size
    done = product.run(*arguments, code=8)
    assert b"SQLite says" in done.stdout or b"damaged" in done.stderr
    assert product.db.stat().st_size == before
    assert not list(product.folder.glob("copy.db*"))
