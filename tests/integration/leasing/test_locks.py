"""A worker's lock file tells at once that its holder is dead, and never that a living one is."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from app.leasing import locks
from tests.integration.store.kit import process, says, tell


def test_the_lock_of_a_killed_process_can_be_taken_at_once(tmp_path: Path) -> None:
    with process("hold_lock", tmp_path / "workers", "u1") as worker:
        assert says(worker) == "holds"
        assert locks.take_from_dead(tmp_path / "workers", "u1") is None
        worker.kill()
        worker.wait()
        lock = locks.take_from_dead(tmp_path / "workers", "u1")
    assert lock is not None
    lock.free()
    assert list((tmp_path / "workers").iterdir()) == []


def test_who_only_looks_knows_a_killed_process_at_once_and_keeps_nobody_out(tmp_path: Path) -> None:
    folder = tmp_path / "workers"
    assert locks.gone(folder, ["u1"]) == frozenset()  # there is no folder yet
    with process("hold_lock", folder, "u1") as worker:
        assert says(worker) == "holds"
        assert locks.gone(folder, ["u1", "u2"]) == frozenset()  # held, and missing
        worker.kill()
        worker.wait()
        assert locks.gone(folder, ["u1", "u2"]) == {"u1"}
    lock = locks.take_from_dead(folder, "u1")
    assert lock is not None
    assert locks.gone(folder, ["u1"]) == frozenset()  # a rescuer has it
    lock.free()
    assert locks.gone(folder, ["u1"]) == frozenset()


def test_where_locks_keep_nobody_out_nobody_is_called_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network file systems grant every lock."""
    (tmp_path / "u1").touch()
    assert locks.gone(tmp_path, ["u1"]) == {"u1"}
    before = _open_files()
    monkeypatch.setattr(fcntl, "flock", lambda _descriptor, _operation: None)
    assert locks.gone(tmp_path, ["u1"]) == frozenset()
    assert _open_files() == before


def test_a_process_that_ends_well_leaves_no_lock_file(tmp_path: Path) -> None:
    with process("hold_lock", tmp_path / "workers", "u1") as worker:
        assert says(worker) == "holds"
        tell(worker)
        assert worker.wait() == 0
    assert list((tmp_path / "workers").iterdir()) == []


def test_of_two_rescuers_one_gets_the_lock(tmp_path: Path) -> None:
    (tmp_path / "u1").touch()
    first = locks.take_from_dead(tmp_path, "u1")
    assert first is not None
    assert locks.take_from_dead(tmp_path, "u1") is None
    first.free()
    assert locks.take_from_dead(tmp_path, "u1") is None  # a missing file proves nothing


def test_a_missing_file_and_a_missing_folder_prove_nothing(tmp_path: Path) -> None:
    assert locks.take_from_dead(tmp_path, "u1") is None
    assert locks.take_from_dead(tmp_path / "missing", "u1") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("made_again", [True, False])
def test_a_lock_on_a_file_that_was_unlinked_meanwhile_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_again: bool
) -> None:
    """Another rescuer finished between our opening and our locking; the name may mean a new worker's file by now."""
    (tmp_path / "u1").touch()
    real = fcntl.flock

    def overtaken(descriptor: int, operation: int) -> None:
        (tmp_path / "u1").unlink()
        if made_again:
            (tmp_path / "u1").touch()
        real(descriptor, operation)

    open_before = _open_files()
    monkeypatch.setattr(fcntl, "flock", overtaken)
    assert locks.take_from_dead(tmp_path, "u1") is None
    assert _open_files() == open_before
    assert (tmp_path / "u1").exists() is made_again


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_a_lock_file_belongs_to_its_owner_alone_and_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "workers"
    lock = locks.take(folder, "u1")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    assert not os.get_inheritable(lock.descriptor)
    with pytest.raises(FileExistsError):
        locks.take(folder, "u1")
    assert locks.take_from_dead(folder, "u1") is None
    lock.free()


def test_the_self_test_sees_whether_another_process_is_kept_out(tmp_path: Path) -> None:
    lock = locks.take(tmp_path / "workers", "u1")
    assert locks.conflicts(lock)
    fcntl.flock(lock.descriptor, fcntl.LOCK_UN)
    assert not locks.conflicts(lock)
    lock.free()
