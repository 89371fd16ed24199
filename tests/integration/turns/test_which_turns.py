"""`--turns` belongs to the dataset: an import that says another is refused, one that says none keeps it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.intake.dataset import find, find_or_create
from app.intake.importing import import_file
from app.intake.normal import Turns
from app.intake.request import ImportReport, ImportRequest
from app.intake.rows import Reading
from app.leasing.datasets import ChangeRequest, change_settings, dataset_of
from app.model.errors import UsageError
from app.model.ids import DatasetId
from app.store.transaction import Tx
from tests.integration.leasing.kit import Room, open_room

pytestmark = pytest.mark.anyio


async def take(room: Room, folder: Path, names: str, turns: Turns | None) -> ImportReport:
    """Import a conversation of two turns for each letter of `names`."""
    talks = [{"id": name, "turns": [f"{name} 0", f"{name} 1"]} for name in names]
    file = folder / "talks.jsonl"
    file.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return await import_file(room.store, ImportRequest("d", str(file), Reading(turns=turns)), lambda _progress: None)


@pytest.mark.parametrize(
    ("made", "said", "words"),
    [
        (None, Turns.ALL, 'turns is "last", this import says "all"'),
        (Turns.ALL, Turns.LAST, 'turns is "all", this import says "last"'),
        (Turns.FIRST, Turns.ALL, 'turns is "first", this import says "all"'),
    ],
)
async def test_another_choice_than_the_datasets_is_refused_and_both_are_named(
    tmp_path: Path, made: Turns | None, said: Turns, words: str
) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await take(room, tmp_path, "a", made)
        with pytest.raises(UsageError, match=words):
            await take(room, tmp_path, "ab", said)
        assert await room.all("SELECT sample_id FROM job") == [("a",)]


async def test_an_import_that_says_none_asks_as_the_dataset_was_made(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await take(room, tmp_path, "a", Turns.ALL)
        again = await take(room, tmp_path, "ab", None)
        assert (again.added, again.present, again.rejected) == (1, 1, 0)
        assert await room.all("SELECT sample_id, turns FROM job ORDER BY id") == [("a", 2), ("b", 2)]


async def test_what_was_not_said_is_refused_when_another_import_makes_the_dataset_first(tmp_path: Path) -> None:
    async def make(tx: Tx, requests: Sequence[ImportRequest]) -> list[DatasetId]:
        return [await find_or_create(tx, request) for request in requests]

    async with open_room(tmp_path / "t.db") as room:
        early = ImportRequest("d", "talks.jsonl")
        target = await find(room.store, early)
        await take(room, tmp_path, "a", Turns.ALL)
        with pytest.raises(UsageError, match='turns is "all", this import says "last"'):
            await room.store.write(make, early.into(target.config))


async def test_a_dataset_may_be_set_to_another_choice(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await take(room, tmp_path, "a", None)
        found = await dataset_of(room.store, "d")
        await room.store.write(change_settings, ChangeRequest(found.id, found.config.changed(turns="all")))
        await take(room, tmp_path, "b", Turns.ALL)
        assert await room.all("SELECT sample_id, turns FROM job ORDER BY id") == [("a", 1), ("b", 2)]
