"""An older store stops every command but `migrate`, which makes a backup first and leaves all as it was on error."""

import json
import shutil
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from app.keeping.migrate import Migrated, migrate
from app.leasing import locks
from app.model.errors import IntegrityFailure, Refused, ResourceExhausted, ThinkledgerError, UsageError
from app.store import migrations, schema
from tests.integration.keeping.kit import make_filled
from tests.integration.store import raw
from tests.integration.store.kit import around, in_store, nothing, run
from tests.support.product import Product

ROOT = Path(__file__).parents[3]
TODAY = schema.NEWEST
NEXT = '''"""A schema of tomorrow, for tests."""

import sqlalchemy as sa
from alembic import op

revision = "tomorrow"
down_revision = "{newest}"
branch_labels = None
depends_on = None


def upgrade():
    with op.batch_alter_table("dataset", recreate="always") as table:
        table.add_column(sa.Column("colour", sa.Text(), server_default="red", nullable=False))
    {more}
'''


def tomorrow(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "pass") -> None:
    """This program with one more migration."""
    shutil.copytree(ROOT / "migrations", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "tomorrow.py").write_text(NEXT.format(newest=TODAY, more=more))
    monkeypatch.setattr(schema, "NEWEST", "tomorrow")
    monkeypatch.setattr(migrations, "scripts", lambda: ScriptDirectory(str(folder)))


def upgraded(path: Path, *, dry_run: bool = False) -> Migrated:
    return run(lambda: migrate(str(path), lambda _done, _total: None, dry_run=dry_run))


def test_an_older_store_is_upgraded_after_a_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.db"
    make_filled(path)
    tomorrow(tmp_path / "migrations", monkeypatch)
    with pytest.raises(UsageError, match="`thinkledger migrate`"):
        in_store(path, nothing)
    done = upgraded(path)
    assert (done.found, done.wanted) == (TODAY, "tomorrow")
    assert raw.query(path, "SELECT DISTINCT colour FROM dataset") == [("red",)]
    assert raw.query(path, "SELECT detail FROM event WHERE kind = 'migrated'") == [
        (f'{{"from": "{TODAY}", "to": "tomorrow"}}',)
    ]
    assert raw.query(path, "SELECT count(*) FROM job") == [(16,)]
    assert raw.query(path, "PRAGMA foreign_key_check") == []
    assert done.backup is not None
    assert done.backup.parent == tmp_path / "t.db.backups"
    assert raw.query(done.backup, "SELECT version_num FROM alembic_version") == [(TODAY,)]
    assert raw.query(done.backup, "SELECT count(*) FROM job") == [(16,)]
    assert upgraded(path).backup is None


def test_a_dry_run_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "t.db"
    make_filled(path)
    tomorrow(tmp_path / "migrations", monkeypatch)
    before = around(tmp_path / "store")
    assert upgraded(path, dry_run=True) == Migrated(TODAY, "tomorrow", None)
    assert around(tmp_path / "store") == before


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("op.execute('DELETE FROM sample WHERE id = 1')", IntegrityFailure),
        ("op.execute('no statement at all')", ThinkledgerError),
    ],
)
def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, error: type[ThinkledgerError]
) -> None:
    path = tmp_path / "t.db"
    make_filled(path)
    tomorrow(tmp_path / "migrations", monkeypatch, more)
    with pytest.raises(error):
        upgraded(path)
    assert raw.query(path, "SELECT version_num FROM alembic_version") == [(TODAY,)]
    assert raw.query(path, "SELECT count(*) FROM sample") == [(14,)]
    assert raw.query(path, "SELECT count(*) FROM pragma_table_info('dataset') WHERE name = 'colour'") == [(0,)]


def test_nothing_is_upgraded_while_a_worker_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.db"
    make_filled(path)
    tomorrow(tmp_path / "migrations", monkeypatch)
    lock = locks.take(tmp_path / "t.db.workers", "u1")
    try:
        with pytest.raises(Refused, match="1 worker and 0 servers"):
            upgraded(path)
    finally:
        lock.free()
    assert raw.query(path, "SELECT version_num FROM alembic_version") == [(TODAY,)]
    assert not (tmp_path / "t.db.backups").exists()


def test_without_room_for_the_backup_nothing_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.db"
    make_filled(path)
    tomorrow(tmp_path / "migrations", monkeypatch)
    monkeypatch.setattr("app.store.copying.shutil.disk_usage", lambda _folder: type("U", (), {"free": 1}))
    with pytest.raises(ResourceExhausted):
        upgraded(path)
    assert raw.query(path, "SELECT version_num FROM alembic_version") == [(TODAY,)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("worker", "start", "--endpoint", "http://127.0.0.1:9"),
        ("verify",),
        ("backup",),
        ("sql", "SELECT 1"),
    ],
)
def test_another_schema_stops_every_command(product: Product, arguments: tuple[str, ...]) -> None:
    """With the only schema there is, a newer one stands for all others: none of them is written to."""
    make_filled(product.db)
    raw.script(product.db, "UPDATE alembic_version SET version_num = '9999'")
    before = product.db.read_bytes()
    assert b"Upgrade thinkledger" in product.run(*arguments, code=2).stderr
    assert b"Upgrade thinkledger" in product.run("migrate", code=2).stderr
    assert product.db.read_bytes() == before


def test_the_command_says_that_there_is_nothing_to_do(product: Product) -> None:
    make_filled(product.db)
    assert b"nothing to do" in product.run("migrate").stdout
    facts = json.loads(product.run("migrate", "--dry-run", "--json").stdout)
    assert facts == {"schema": 1, "from": TODAY, "to": TODAY, "backup": None, "dry_run": True}
