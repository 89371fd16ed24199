"""An answer that is read anew after later turns were asked: no export shows them under what they were not asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.leasing.datasets import dataset_of
from app.model.conversation import Said
from app.responses.rereading import Reparse, reparse
from app.responses.transitions import Report
from app.store.store import Store, open_store
from tests.integration.turns.kit import Talks, talks
from tests.support.filled import chat
from tests.support.kinds import db

pytestmark = pytest.mark.anyio


async def read_otherwise(store: Talks) -> None:
    """A conversation of three turns whose first answer an older parser read otherwise, and went on with."""
    (lease,) = await store.room.claim(await store.room.worker())
    assert await store.answer(lease, 0, "a")
    await store.room.execute("UPDATE reading SET content = 'of old'")
    assert await store.sent(lease) == ["human 0", "of old", "human 1"]
    assert await store.answer(lease, 1, "b")
    assert await store.answer(lease, 2, "c")


async def reparsed(store: Talks, *, allow: bool = False) -> Report:
    settings = await dataset_of(store.room.store, "talks")
    return await reparse(store.room.store, Reparse(settings, True, allow), lambda _done, _all: None)


async def exported(store: Store, target: Path, preset: Preset) -> tuple[list[dict[str, Any]], dict[str, int]]:
    report = await export_dataset(store, ExportRequest("talks", target, preset=preset))
    return [json.loads(line) for line in target.read_text().splitlines()], report.left_out


async def test_an_answer_that_later_turns_were_asked_after_keeps_its_reading(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        await read_otherwise(store)
        report = await reparsed(store)
        assert (report.changed, report.regressions, report.kept) == (1, 1, 1)
        lines, left_out = await exported(store.room.store, tmp_path / "out.jsonl", Preset.MESSAGES)
        assert [said["content"] for said in lines[1]["messages"]] == ["human 0", "of old", "human 1"]
        assert left_out == {}


async def test_the_last_answer_and_one_that_nothing_was_asked_after_are_read_anew(tmp_path: Path) -> None:
    async with talks(tmp_path, 2, 3) as store:
        whole, begun = await store.room.claim(await store.room.worker())
        for turn, words in enumerate("ab"):
            assert await store.answer(whole, turn, words)
        assert await store.answer(begun, 0, "c")
        await store.room.execute("UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL"
                                 f" WHERE id = {int(begun.job)}")  # fmt: skip
        await store.room.execute("UPDATE reading SET content = 'of old' WHERE response_id > 1")
        report = await reparsed(store)
        assert (report.changed, report.regressions, report.kept) == (2, 0, 0)
        await store.check()


async def test_an_answer_whose_next_turn_is_being_asked_keeps_its_reading(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, "a")
        await store.room.execute("UPDATE reading SET content = 'of old'")
        assert (await reparsed(store)).kept == 1


@pytest.mark.parametrize("preset", [Preset.MESSAGES, Preset.RUN_INFERENCE, Preset.FULL])
async def test_a_conversation_with_another_history_is_left_out_by_its_id(tmp_path: Path, preset: Preset) -> None:
    async with talks(tmp_path, 3, 1) as store:
        await read_otherwise_first(store)
        assert (await reparsed(store, allow=True)).kept == 0
        lines, left_out = await exported(store.room.store, tmp_path / "out.jsonl", preset)
        assert (len(lines), left_out) == (1, {"history_changed": 1})
        assert lines[0].get("sample_id", lines[0].get("id")) == "c1"
        manifest = (tmp_path / "out.jsonl.manifest.json").read_text()
        assert "history_changed" in manifest


async def read_otherwise_first(store: Talks) -> None:
    """The same with a conversation of one turn beside it."""
    talk, single = await store.room.claim(await store.room.worker())
    assert await store.room.answer(single)
    assert await store.answer(talk, 0, "a")
    await store.room.execute("UPDATE reading SET content = 'of old' WHERE content = 'a'")
    assert await store.answer(talk, 1, "b")
    assert await store.answer(talk, 2, "c")


async def test_an_archive_that_is_read_otherwise_is_held_against_what_was_sent(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        await read_otherwise(store)
        await exported(store.room.store, tmp_path / "full.jsonl", Preset.FULL)
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        archive = str(tmp_path / "full.jsonl")
        report = await import_file(other, ImportRequest("talks", archive), lambda _progress: None)
        assert report.added == 1
        assert await exported(other, tmp_path / "out.jsonl", Preset.MESSAGES) == ([], {"history_changed": 1})


async def test_half_a_character_in_the_history_is_left_out_like_any_other_change(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, chat("thought of a</think>a\ud83d"))
        await store.room.execute("UPDATE reading SET content = 'of old', text_form = 'plain', reasoning = NULL")
        assert await store.answer(lease, 1, "b")
        assert (await reparsed(store, allow=True)).kept == 0
        left_out = (await exported(store.room.store, tmp_path / "out.jsonl", Preset.MESSAGES))[1]
        assert left_out == {"history_changed": 1}


def test_a_thought_is_part_of_the_history_inside_a_tool_loop_only() -> None:
    call = (("lookup", "x"),)
    assert Said("a", "one").goes_on_as(Said("a", "two"))
    assert not Said("a", "one", called=call).goes_on_as(Said("a", "two", called=call))
    assert not Said("a", "one").goes_on_as(Said("b", "one"))
