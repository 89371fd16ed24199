"""A backup is whole, verified and named at the end; whatever goes wrong before, nothing looks like one."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from app.model.errors import Refused, ResourceExhausted
from app.store import copying
from app.store.place import Place
from tests.integration.keeping.kit import make_filled, verified
from tests.integration.store import raw
from tests.support.forks import environment
from tests.support.product import Product, wait_for

Usage = namedtuple("Usage", "total used free")


def test_a_backup_is_a_sound_store_with_the_size_hash_and_number_that_were_said(product: Product) -> None:
    make_filled(product.db)
    facts = json.loads(product.run("backup", "copy.db", "--json").stdout)
    copy = product.folder / "copy.db"
    assert facts["path"] == str(copy)
    assert facts["bytes"] == copy.stat().st_size
    assert facts["sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert (facts["jobs"], facts["responses"]) == (16, 8)
    report, found = verified(copy)
    assert (report.seq, found) == (facts["seq"], [])
    assert copy.stat().st_mode & 0o777 == 0o600
    assert product.value("SELECT backup_seq FROM meta") == facts["seq"]
    assert product.rows("SELECT kind, json_extract(detail, '$.sha256') FROM event WHERE kind = 'backup'") == [
        ("backup", facts["sha256"])
    ]


def test_without_a_target_it_goes_beside_the_store_and_only_the_newest_are_kept(product: Product) -> None:
    make_filled(product.db)
    folder = product.folder / "thinkledger.db.backups"
    folder.mkdir()
    (folder / "thinkledger-of-somebody.db").write_text("not ours")
    for _ in range(3):
        said = product.run("backup", "--keep", "2").stdout.decode()
        assert "verified" in said
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 3
    assert names[-1] == "thinkledger-of-somebody.db"


def test_nothing_is_written_over(product: Product) -> None:
    make_filled(product.db)
    (product.folder / "there.db").write_text("precious")
    said = product.run("backup", "there.db", code=4).stderr.decode()
    assert "exists" in said
    assert (product.folder / "there.db").read_text() == "precious"
    product.run("backup", "thinkledger.db", code=4)
    product.run("backup", "no/such/folder.db", code=3)
    assert not list(product.folder.glob("*.part"))


def test_a_copy_that_is_not_sound_never_gets_the_name(product: Product) -> None:
    make_filled(product.db)
    verified(product.db, "UPDATE counter SET n = n + 1 WHERE metric = 'state:done'")
    said = product.run("backup", "copy.db", code=8).stderr.decode()
    assert "copy.db.unsound" in said
    assert "the counter state:done says" in said
    assert not (product.folder / "copy.db").exists()
    assert product.value("SELECT backup_ms FROM meta") is None


def test_a_full_disk_is_seen_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_filled(tmp_path / "t.db")
    monkeypatch.setattr(copying.shutil, "disk_usage", lambda _folder: Usage(1, 1, copying.LEAST_WAL_GROWTH))
    with pytest.raises(ResourceExhausted, match="MiB free, and the copy may need"):
        copying.require_room(Place(tmp_path / "t.db"), tmp_path / "copy.db")


def test_two_backups_do_not_write_one_file(tmp_path: Path) -> None:
    with copying.part_file(tmp_path / "copy.db"):
        with pytest.raises(Refused, match="Another process is writing"), copying.part_file(tmp_path / "copy.db"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_was_finished_is_not_removed_with_the_next_one(tmp_path: Path) -> None:
    with copying.part_file(tmp_path / "copy.db") as part:
        part.finish()
        (tmp_path / "copy.db.part").write_text("somebody else's")
    assert (tmp_path / "copy.db.part").read_text() == "somebody else's"


SLOW = """
import sys, time
from app.store import copying
real = copying.copy_store
async def slow(source, part, progress):
    await real(source, part, progress)
    print("copied", flush=True)
    time.sleep(600)
import app.keeping.backup
app.keeping.backup.copy_store = slow
from worker.cli import call
call(sys.argv[1:])
"""


def test_a_backup_that_is_killed_leaves_no_name_and_the_next_one_works(product: Product) -> None:
    make_filled(product.db)
    product.run("backup", "older.db")
    before = (product.folder / "older.db").read_bytes()
    command = [sys.executable, "-c", SLOW, "backup", "copy.db"]
    with subprocess.Popen(command, cwd=product.folder, env=environment(), stdout=subprocess.PIPE) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline() == b"copied\n"
        dying.send_signal(signal.SIGKILL)
    assert not (product.folder / "copy.db").exists()
    assert (product.folder / "copy.db.part").exists()
    product.run("verify", "--full")
    product.run("backup", "copy.db")
    assert not (product.folder / "copy.db.part").exists()
    assert (product.folder / "older.db").read_bytes() == before
    assert verified(product.folder / "copy.db")[1] == []


def test_a_copy_is_interrupted_at_once(tmp_path: Path) -> None:
    """SIGINT while SQLite copies: the command ends, and its part is gone."""
    path = tmp_path / "thinkledger.db"
    make_filled(path)
    large = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
    raw.script(path, f"{large} INSERT INTO event (at_ms, kind, detail) SELECT i, 'x', hex(randomblob(2000)) FROM n")
    command = [sys.executable, "-c", "import sys; from worker.cli import call; sys.exit(call(sys.argv[1:]))"]
    for _ in range(10):
        with subprocess.Popen([*command, "backup", "copy.db"], cwd=tmp_path, env=environment()) as backup:
            wait_for(lambda: _size(tmp_path / "copy.db.part") > 0 or backup.poll() is not None, "a copy that grows")
            backup.send_signal(signal.SIGINT)
            code = backup.wait()
        if code != 0:
            break
        (tmp_path / "copy.db").unlink()  # it was whole before the signal came
    assert code == 130
    assert not list(tmp_path.glob("copy.db*"))


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - in the words of the assertion
    except FileNotFoundError:
        return 0
