"""Rows of an archive that are no whole conversation, or another one than came before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest
from app.intake.importing import import_file
from app.intake.request import ImportReport, ImportRequest
from app.store.store import Store, open_store
from app.verify.verifying import Told, verify
from tests.integration.turns.kit import talks
from tests.support.kinds import db

pytestmark = pytest.mark.anyio

Row = dict[str, Any]


@pytest.fixture
async def archived(tmp_path: Path) -> Row:
    """The archive's row of a conversation of three turns."""
    async with talks(tmp_path, 3) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        for turn, words in enumerate("abc"):
            assert await store.answer(lease, turn, words)
        await export_dataset(store.room.store, ExportRequest("talks", tmp_path / "full.jsonl", preset=Preset.FULL))
    row: Row = json.loads((tmp_path / "full.jsonl").read_text())
    return row


async def imported(store: Store, folder: Path, *rows: Row) -> ImportReport:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return await import_file(store, ImportRequest("talks", str(file)), lambda _progress: None)


def more(row: Row) -> None:
    row["turns"].append(row["turns"][0])


def fewer(row: Row) -> None:
    row["turns"].pop(0)


@pytest.mark.parametrize("change", [more, fewer])
async def test_a_row_with_another_number_of_answers_is_rejected_alone(
    tmp_path: Path, archived: Row, change: Callable[[Row], None]
) -> None:
    broken = json.loads(json.dumps(archived))
    change(broken)
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        report = await imported(other, tmp_path, broken, archived | {"sample_id": "good"})
        assert (report.added, report.rejected, report.reasons) == (1, 1, {"conversation": 1})
        reject = json.loads((tmp_path / "rows.jsonl.rejects.jsonl").read_text())
        assert reject["line"] == 1
        assert f"it has {len(broken['turns']) + 1} answers, and its script asks for 3" in json.dumps(reject)
        assert await jobs(other) == [("good", "done", 3)]
        assert await findings(other) == []


async def test_a_script_of_one_turn_is_an_ordinary_answer(tmp_path: Path, archived: Row) -> None:
    single = archived | {"script": archived["script"][:2], "messages": archived["messages"][:1], "turns": []}
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        report = await imported(other, tmp_path, single)
        assert (report.added, report.rejected) == (1, 0)
        assert await jobs(other) == [("c0", "done", 0)]
        assert await findings(other) == []


async def test_a_corrected_row_is_taken_after_one_that_was_no_answer(tmp_path: Path, archived: Row) -> None:
    broken = json.loads(json.dumps(archived))
    broken["turns"][1]["response"]["raw"] = '{"error": "busy'
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        await imported(other, tmp_path, broken)
        assert await jobs(other) == [("c0", "ready", 0)]
        report = await imported(other, tmp_path, broken)
        assert (report.present, report.rejected) == (1, 0)
        report = await imported(other, tmp_path, archived)
        assert (report.present, report.rejected, report.results) == (1, 0, {"split_from_content": 1})
        assert await jobs(other) == [("c0", "done", 3)]
        again = await imported(other, tmp_path, archived)
        assert (again.present, again.results) == (1, {})
        assert await findings(other) == []


async def test_a_broken_row_and_its_correction_come_in_one_file(tmp_path: Path, archived: Row) -> None:
    broken = json.loads(json.dumps(archived))
    broken["turns"][0]["response"]["raw"] = '{"error": "busy'
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        report = await imported(other, tmp_path, broken, archived)
        assert report.rejected == 0
        assert await jobs(other) == [("c0", "done", 3)]


async def jobs(store: Store) -> list[tuple[str, str, int]]:
    """Id, state and turn of every job."""
    async with store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text("SELECT sample_id, state, turn FROM job ORDER BY id"))]


async def findings(store: Store) -> list[Any]:
    """What `verify --full` finds."""
    found: list[Any] = []
    await verify(store, Told(found.append), full=True)
    return found
