"""A file that a dataset has taken before: known by its bytes, or read again where anything speaks against that."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.intake import chunks
from app.intake.matching import Repeats
from app.intake.rows import Reading
from app.leasing import deleting
from app.leasing.deleting import Doomed, delete
from app.model.ids import DatasetId
from app.store.store import Store
from app.store.tables import DATASET
from tests.integration.import_kit import in_store, lines, prompts, rows_of, take
from tests.support.kinds import kind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def count_readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines that are read from here on."""
    read = []
    real = chunks.read_row

    def noted(line: int, data: bytes, reading: Reading) -> Any:
        read.append(line)
        return real(line, data, reading)

    monkeypatch.setattr(chunks, "read_row", noted)
    return read


def test_a_file_that_was_taken_whole_is_known_by_its_bytes_and_not_read_again(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(prompts(["a", "b", "a"]))
    first = take(tmp_path, file)
    read = count_readings(monkeypatch)
    again = take(tmp_path, file)
    assert read == []
    assert again == replace(first, created=False, added=0, present=3)
    file.rename(file.with_name("other.jsonl"))
    assert take(tmp_path, file.with_name("other.jsonl")) == replace(again, file="other.jsonl")
    assert read == []


@pytest.mark.parametrize(
    ("settings", "fate"),
    [
        ({"limit": 2}, {"rows": 2, "present": 2}),
        ({"reading": Reading(id_field="name")}, {"added": 3}),
        ({"reading": Reading(format="messages")}, {"rejected": 3}),
        ({"repeats": Repeats(drop=True)}, {"dropped": 1, "present": 2}),
        ({"repeats": Repeats(refuse=True)}, {"rejected": 3}),
    ],
)
def test_a_known_file_that_is_to_be_taken_otherwise_is_read(
    tmp_path: Path, file: Path, settings: dict[str, Any], fate: dict[str, int]
) -> None:
    file.write_bytes(
        lines(*({"prompt": word, "name": f"n{word}"} for word in ("a", "b")), {"prompt": "a", "name": "n"})
    )
    take(tmp_path, file)
    report = take(tmp_path, file, **settings)
    assert {name: getattr(report, name) for name in fate} == fate


def test_a_changed_file_of_the_same_length_is_read(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a", "b"]))
    take(tmp_path, file)
    file.write_bytes(prompts(["a", "c"]))
    assert (take(tmp_path, file).added, take(tmp_path, file).added) == (1, 0)


def test_a_dataset_that_was_deleted_remembers_no_file(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a", "b"]))
    take(tmp_path, file)

    in_store(tmp_path, lambda store: delete(store, Doomed(DatasetId(1), "d")))
    other = file.with_name("other.jsonl")
    other.write_bytes(prompts(["c"]))
    take(tmp_path, other)
    if kind() == "sqlite":
        assert rows_of(tmp_path, DATASET.c.id) == [(1,)]  # the number of the first one
    assert take(tmp_path, file).added == 2


def test_a_dataset_whose_deletion_was_cut_off_remembers_no_file(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(prompts(["a", "b", "c"]))
    take(tmp_path, file)
    monkeypatch.setattr(deleting, "PAGE", 1)

    async def cut_off(store: Store) -> None:
        doomed = Doomed(DatasetId(1), "d")
        await store.write(deleting._close, doomed)
        assert await store.write(deleting._remove_pages, doomed) == 1

    in_store(tmp_path, cut_off)
    assert [take(tmp_path, file).added for _ in range(2)] == [1, 0]

    async def go_on(store: Store) -> None:
        assert await store.write(deleting._remove_pages, Doomed(DatasetId(1), "d")) == 1

    in_store(tmp_path, go_on)  # beside an import that ended meanwhile, and is cut off again
    assert take(tmp_path, file).added == 1


def test_every_contradiction_is_named_at_every_import(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"id": "x", "prompt": "p"}, {"id": "y", "prompt": "p"}))
    take(tmp_path, file)
    other = file.with_name("other.jsonl")
    other.write_bytes(lines({"id": "z", "prompt": "p"}, {"id": "x", "prompt": "q"}, {"id": "z", "prompt": "r"}))
    named = []
    for _ in range(3):
        assert take(tmp_path, file).rejected == 0
        report = take(tmp_path, other)
        assert (report.rejected, report.reasons) == (2, {"conflicting_id": 2})
        assert report.rejects is not None
        named.append([json.loads(line)["detail"] for line in report.rejects.read_bytes().splitlines()])
    assert named[0] == named[1] == named[2]
    assert "'x' has other content at line 1 of rows.jsonl than at line 2 of other.jsonl" in named[0]
