"""The tables in code are the tables that the migrations make."""

import re
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine

from app.model.states import JobState
from app.model.verdicts import Verdict
from app.store import migrations, schema
from app.store.tables import JOB, METADATA, READING
from app.store.triggers import ANSWER_VIEW, SQLITE_TRIGGERS
from tests.integration.store import raw
from tests.integration.store.kit import make

_MASTER = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'alembic%'"


def _objects(path: Path) -> dict[tuple[str, str], list[str]]:
    """The definition of each object as its parts; the parts of a table in no order, since it has none."""
    return {(kind, name): _parts(kind, sql) for kind, name, sql in raw.query(path, _MASTER)}


def _parts(kind: str, sql: str) -> list[str]:
    flat = re.sub(r"\s+", " ", sql).replace('"', "").replace("( ", "(").replace(" )", ")").strip()
    if kind != "table":
        return [flat]
    head, _, body = flat.partition("(")
    inside, _, tail = body.rpartition(")")
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(inside + ","):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(inside[start:place].strip())
            start = place + 1
    return [head, *sorted(parts), tail]


def _modelled(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    METADATA.create_all(engine)
    engine.dispose()
    raw.script(path, *SQLITE_TRIGGERS, ANSWER_VIEW)


def test_the_migrated_schema_is_that_of_the_code(tmp_path: Path) -> None:
    _modelled(tmp_path / "modelled.db")
    make(tmp_path / "migrated.db")
    modelled, migrated = _objects(tmp_path / "modelled.db"), _objects(tmp_path / "migrated.db")
    assert migrated.keys() == modelled.keys()
    for name, parts in modelled.items():
        assert migrated[name] == parts, name
    kinds = {kind for kind, _ in modelled}
    assert kinds == {"table", "index", "trigger", "view"}


def test_columns_stand_in_the_order_of_the_code(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    for table in METADATA.sorted_tables:
        columns = [row[1] for row in raw.query(tmp_path / "t.db", f"PRAGMA table_info({table.name})")]
        assert columns == [column.name for column in table.columns]


def test_a_new_migration_would_be_empty(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    engine = create_engine(f"sqlite:///{tmp_path / 't.db'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()


def test_every_table_is_strict(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    strict = {row[1]: row[5] for row in raw.query(tmp_path / "t.db", "PRAGMA table_list")}
    assert {strict[table.name] for table in METADATA.sorted_tables} == {1}


def test_the_checks_name_every_state_and_every_verdict() -> None:
    checks = {str(check.name): str(check.sqltext) for check in (*_checks(JOB), *_checks(READING))}
    assert set(re.findall(r"'(\w+)'", checks["job_state"])) == set(JobState)
    assert set(re.findall(r"'(\w+)'", checks["job_verdict"])) == set(Verdict)
    assert set(re.findall(r"'(\w+)'", checks["reading_verdict"])) == set(Verdict)


def _checks(table: object) -> list[object]:
    return [one for one in table.constraints if hasattr(one, "sqltext")]  # type: ignore[attr-defined]


def test_the_newest_schema_follows_from_the_first_in_one_line() -> None:
    revisions = [script.revision for script in migrations.scripts().walk_revisions()]
    assert revisions[0] == schema.NEWEST
    assert len(revisions) == len(set(revisions))
