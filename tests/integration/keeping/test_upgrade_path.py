"""A store of each earlier schema version is upgraded and verified; while there is one version only, one of today is."""

from pathlib import Path

import pytest

from app.store import migrations
from tests.integration.keeping.test_migrate import tomorrow, upgraded
from tests.integration.store import raw
from tests.support import stores
from tests.support.product import Product

VERSIONS = [revision.revision for revision in migrations.scripts().walk_revisions()][::-1]


def test_every_version_but_the_newest_has_its_store() -> None:
    assert [version for version in VERSIONS[:-1] if version not in stores.kept()] == [], stores.__doc__


def store_of(version: str, folder: Path) -> Path:
    path = folder / "thinkledger.db"
    if version in stores.kept():
        stores.load(stores.kept()[version].read_bytes(), path)
    else:
        stores.make(folder / "today.db")
        stores.load(stores.dump(folder / "today.db"), path)
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_its_store_is_upgraded_and_verified(tmp_path: Path, version: str) -> None:
    path = store_of(version, tmp_path)
    assert raw.query(path, "SELECT version_num FROM alembic_version") == [(version,)]
    before = raw.query(path, "SELECT dataset_id, sample_id, replica, state FROM job ORDER BY id")
    assert len(before) > 50
    product = Product(tmp_path)
    product.run("migrate")
    product.run("verify", "--full")
    assert raw.query(path, "SELECT version_num FROM alembic_version") == [(VERSIONS[-1],)]
    assert raw.query(path, "SELECT dataset_id, sample_id, replica, state FROM job ORDER BY id") == before
    product.run("export", "--dataset", "d", "--only", "done", "--allow-uncaptured", "--allow-incomplete")


def test_an_upgraded_store_says_the_same_in_every_column_of_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_of(VERSIONS[-1], tmp_path)
    before = raw.query(path, "SELECT sample_id, replica, raw, reasoning, content, verdict FROM answer ORDER BY 1, 2")
    assert len(before) > 10
    tomorrow(tmp_path / "migrations", monkeypatch)
    assert upgraded(path).wanted == "tomorrow"
    after = raw.query(path, "SELECT sample_id, replica, raw, reasoning, content, verdict FROM answer ORDER BY 1, 2")
    assert after == before
