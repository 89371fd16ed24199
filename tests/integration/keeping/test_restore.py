"""A restore replaces nothing while somebody works, keeps what was there, and makes every older lease void."""

import json
from pathlib import Path

import pytest

from app.leasing import locks
from app.model.errors import Refused, Unavailable
from tests.integration.keeping.kit import make_filled, verified
from tests.integration.store import raw
from tests.integration.store.kit import make, process, says, tell
from tests.support.product import Product


def test_what_was_there_is_kept_and_the_backup_takes_its_place(product: Product) -> None:
    make_filled(product.db)
    product.run("backup", "copy.db")
    verified(product.db, "UPDATE dataset SET rank = 7")
    facts = json.loads(product.run("restore", "copy.db", "--json").stdout)
    replaced = Path(facts["replaced"])
    assert raw.query(replaced, "SELECT DISTINCT rank FROM dataset") == [(7,)]
    assert product.rows("SELECT DISTINCT rank FROM dataset") == [(0,)]
    assert facts["epoch"] == product.value("SELECT epoch FROM meta") > 0
    assert facts["seq"] == raw.query(product.folder / "copy.db", "SELECT seq FROM meta")[0][0]
    assert product.value("SELECT seq FROM meta") == facts["seq"] + 1
    assert verified(product.db)[1] == []
    assert sorted(path.suffix for path in product.folder.iterdir() if "-" in path.name and path != replaced) == []


def test_leases_of_the_backup_are_ready_and_its_workers_are_dead(product: Product) -> None:
    make_filled(product.db)
    assert product.count("leased") == 1
    product.run("backup", "copy.db")
    facts = json.loads(product.run("restore", "copy.db", "--json").stdout)
    assert (facts["released"], product.count("leased")) == (1, 0)
    assert product.rows("SELECT state FROM worker") == [("dead",)]
    assert product.rows("SELECT attempt, lease_worker FROM job WHERE sample_id = 's9'") == [(1, None)]
    assert product.count("ready") == 10


def test_two_restores_of_one_backup_are_two_epochs(product: Product) -> None:
    make_filled(product.db)
    product.run("backup", "copy.db")
    epochs = [json.loads(product.run("restore", "copy.db", "--json").stdout)["epoch"] for _ in range(2)]
    assert epochs[0] < epochs[1]
    assert len(list(product.folder.glob("thinkledger.db.replaced-*"))) == 2


def test_a_restore_to_a_new_path_makes_the_store_there(product: Product) -> None:
    make_filled(product.db)
    product.run("backup", "copy.db")
    facts = json.loads(product.run("--db", "other.db", "restore", "copy.db", "--json").stdout)
    assert (facts["replaced"], facts["path"]) == (None, str(product.folder / "other.db"))
    assert verified(product.folder / "other.db")[1] == []
    assert verified(product.db)[1] == []


def test_a_backup_that_is_not_sound_replaces_nothing(product: Product) -> None:
    make_filled(product.db)
    make_filled(product.folder / "copy.db")
    flipped = "UPDATE body SET raw = CAST(substr(raw, 1, 50) || X'00' || substr(raw, 52) AS BLOB) WHERE response_id = 3"
    verified(product.folder / "copy.db", flipped)
    before = product.db.read_bytes()
    said = product.run("restore", "copy.db", code=8).stderr.decode()
    assert "nothing was replaced" in said
    assert "first s3: response 3: its body cannot be unpacked" in said
    assert product.db.read_bytes() == before
    assert not list(product.folder.glob("*restoring*"))


@pytest.mark.parametrize(("name", "code"), [("thinkledger.db", 2), ("missing.db", 3), ("text.db", 8)])
def test_what_is_no_backup_is_refused(product: Product, name: str, code: int) -> None:
    make_filled(product.db)
    (product.folder / "text.db").write_text("no store at all\n" * 10)
    before = product.db.read_bytes()
    product.run("restore", name, code=code)
    assert product.db.read_bytes() == before


@pytest.mark.parametrize(("uuid", "said"), [("u1", "1 worker and 0 servers"), ("server-u1", "0 workers and 1 server")])
def test_nothing_is_replaced_while_a_worker_or_a_server_holds_its_lock(product: Product, uuid: str, said: str) -> None:
    make_filled(product.db)
    product.run("backup", "copy.db")
    before = product.db.read_bytes()
    with process("hold_lock", product.folder / "thinkledger.db.workers", uuid) as holder:
        assert says(holder) == "holds"
        assert said in product.run("restore", "copy.db", code=4).stderr.decode()
        assert product.db.read_bytes() == before
        tell(holder)
        holder.wait()
    product.run("restore", "copy.db")


def test_a_lock_file_that_nobody_holds_stops_no_restore(product: Product) -> None:
    make_filled(product.db)
    product.run("backup", "copy.db")
    folder = product.folder / "thinkledger.db.workers"
    folder.mkdir()
    (folder / "u1").touch()
    product.run("restore", "copy.db")
    assert [path.name for path in folder.iterdir()] == ["u1"]


def test_nobody_starts_while_somebody_is_alone_with_the_store(tmp_path: Path) -> None:
    with locks.alone(tmp_path / "workers"):
        with pytest.raises(Unavailable, match="restored, upgraded or copied"):
            locks.take(tmp_path / "workers", "u1")
        with pytest.raises(Refused, match="Another restore"), locks.alone(tmp_path / "workers"):
            pass
    locks.take(tmp_path / "workers", "u1").free()
    assert list((tmp_path / "workers").iterdir()) == []


def test_servers_that_were_killed_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "server-dead").touch()
    (tmp_path / "worker").touch()
    with locks.server(tmp_path, "me"):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["server-me", "worker"]
    assert [path.name for path in tmp_path.iterdir()] == ["worker"]


def test_a_restore_that_was_cut_between_its_renames_is_finished_by_the_next(product: Product) -> None:
    """The file of the store was renamed, its WAL not yet: nobody finds a store there, and no stale WAL is read."""
    make_filled(product.db)
    product.run("backup", "copy.db")
    product.db.rename(product.folder / "thinkledger.db.replaced-now")
    wal = product.folder / "thinkledger.db-wal"
    wal.write_bytes(b"rows of the store that was there")
    product.run("status", code=3)
    product.run("restore", "copy.db")
    assert not wal.exists()
    assert verified(product.db)[1] == []
    kept = list(product.folder.glob("thinkledger.db.replaced-*-wal"))
    assert [path.read_bytes() for path in kept] == [b"rows of the store that was there"]


def test_an_empty_store_is_replaced_too(product: Product) -> None:
    make_filled(product.folder / "copy.db")
    make(product.db)
    product.run("restore", "copy.db")
    assert product.count("done") == 4
