"""A store of each earlier schema comes out of the migrations with all that was in it, and as this version makes one."""

from pathlib import Path
from typing import Any

from app.keeping.migrate import migrate
from app.store import migrations
from app.store.engines import writing_engine
from app.store.place import Place
from app.store.tables import METADATA
from tests.integration.keeping.kit import make_filled, verified
from tests.integration.store import raw
from tests.integration.store.kit import make, run

WIDE = "SELECT response.*, codec, raw FROM now.response JOIN now.body ON response_id = id"
OBJECTS = "SELECT type, name, replace(sql, '\"', '') FROM sqlite_master WHERE sql IS NOT NULL"


def make_first(path: Path, filled: Path) -> None:
    """What is in a store of today as schema 0001 kept it: bodies beside the facts of their responses."""
    engine = writing_engine(Place(path))
    with engine.begin() as connection:
        migrations.upgrade(connection, "0001")
    engine.dispose()
    triggers = raw.query(path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")
    tables = [name for (name,) in raw.query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    copied = [name for name in tables if name not in ("response", "alembic_version") and "sqlite" not in name]
    raw.script(
        path,
        "PRAGMA foreign_keys=OFF",
        f"ATTACH '{filled}' AS now",
        *(f"DROP TRIGGER {name}" for name, _ in triggers),
        *(f"INSERT INTO main.{name} SELECT * FROM now.{name}" for name in copied),
        f"INSERT INTO main.response {WIDE}",
        *(sql for _, sql in triggers),
    )


def contents(path: Path) -> dict[str, list[Any]]:
    """Every row of every table; of events all but that of the migration."""
    listed = {
        table.name: raw.query(path, f"SELECT * FROM {table.name} ORDER BY 1, 2") for table in METADATA.sorted_tables
    }
    return listed | {"event": [row for row in listed["event"] if row[2] != "migrated"]}


def upgraded(path: Path) -> None:
    run(lambda: migrate(str(path), lambda _done, _total: None, dry_run=False))


def test_a_store_of_the_first_schema_keeps_every_row(tmp_path: Path) -> None:
    make_filled(tmp_path / "now.db")
    make_first(tmp_path / "t.db", tmp_path / "now.db")
    assert raw.query(tmp_path / "t.db", "SELECT version_num FROM alembic_version") == [("0001",)]
    upgraded(tmp_path / "t.db")
    assert contents(tmp_path / "t.db") == contents(tmp_path / "now.db")
    assert verified(tmp_path / "t.db")[1] == []


def test_an_upgraded_store_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    make_filled(tmp_path / "now.db")
    make_first(tmp_path / "t.db", tmp_path / "now.db")
    upgraded(tmp_path / "t.db")
    make(tmp_path / "new.db")
    assert set(raw.query(tmp_path / "t.db", OBJECTS)) == set(raw.query(tmp_path / "new.db", OBJECTS))


def test_an_upgraded_store_goes_on_counting(tmp_path: Path) -> None:
    make_filled(tmp_path / "now.db")
    make_first(tmp_path / "t.db", tmp_path / "now.db")
    upgraded(tmp_path / "t.db")
    late = "SELECT n FROM counter WHERE metric = 'late' AND dataset_id = 1"
    ((before,),) = raw.query(tmp_path / "t.db", late)
    raw.script(tmp_path / "t.db", "UPDATE response SET late = 1 WHERE id = 2")
    assert raw.query(tmp_path / "t.db", late) == [(before + 1,)]
