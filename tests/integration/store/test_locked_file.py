"""A file that is made with its lock on is nobody's to take until its maker is gone."""

import os
import threading
from pathlib import Path

import pytest

from app.store.locked_file import create_locked, named_files, take_free


def test_a_rescuer_never_gets_in_between_a_file_and_its_lock(tmp_path: Path) -> None:
    """Many files, and somebody who tries all of them all the time."""
    taken: list[Path] = []
    over = threading.Event()

    def rescue() -> None:
        while not over.is_set():
            taken.extend(path for path in named_files(tmp_path) if take_free(path) is not None)

    rescuer = threading.Thread(target=rescue)
    rescuer.start()
    try:
        for number in range(2_000):
            path = tmp_path / f"w{number}"
            descriptor = create_locked(path)
            path.unlink()
            os.close(descriptor)
    finally:
        over.set()
        rescuer.join()
    assert taken == []
    assert list(tmp_path.iterdir()) == []


def test_it_is_taken_once_its_holder_is_gone(tmp_path: Path) -> None:
    descriptor = create_locked(tmp_path / "w")
    assert take_free(tmp_path / "w") is None
    os.close(descriptor)
    taken = take_free(tmp_path / "w")
    assert taken is not None
    assert take_free(tmp_path / "w") is None
    os.close(taken)
    assert take_free(tmp_path / "gone") is None


def test_a_name_that_is_taken_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with pytest.raises(OSError, match="exists"):
        create_locked(tmp_path / "w")
    assert [path.name for path in tmp_path.iterdir()] == ["w"]
