"""A conversation in every preset, and back into a store from the archive."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.export.check import check_against, check_file, load_manifest
from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest
from app.intake.importing import import_file
from app.intake.normal import Turns
from app.intake.request import ImportRequest
from app.intake.rows import Reading
from app.store.store import Store, open_store
from app.verify.verifying import Told, verify
from tests.integration.leasing.kit import open_room
from tests.integration.turns.kit import Talks, talks
from tests.support.filled import chat
from tests.support.kinds import db

pytestmark = pytest.mark.anyio

SAID = [("human 0", "a"), ("human 1", "b"), ("human 2", "c")]


async def finished(store: Talks) -> None:
    """A conversation of three turns and one of one turn, both done."""
    worker = await store.room.worker()
    for lease in await store.room.claim(worker):
        if (await store.prompt(lease)).conversation is None:
            assert await store.room.answer(lease)
            continue
        for turn, (_, words) in enumerate(SAID):
            assert await store.answer(lease, turn, words)


async def rows(store: Store, folder: Path, preset: Preset) -> list[dict[str, Any]]:
    """The lines of an export, which its manifest and a second look at the store confirm."""
    target = folder / f"{preset}.jsonl"
    report = await export_dataset(store, ExportRequest("talks", target, preset=preset))
    assert report.left_out == {}
    manifest = load_manifest(target)
    check_file(manifest)
    assert await check_against(store, manifest)
    return [json.loads(line) for line in target.read_text().splitlines()]


def spoken(until: int, thoughts: bool) -> list[dict[str, Any]]:
    """The conversation up to a turn, with the model's thoughts or without them."""
    found = []
    for said, words in SAID[:until]:
        thought = {"reasoning_content": f"thought of {words}"} if thoughts else {}
        found += [{"role": "user", "content": said}, {"role": "assistant", "content": words, **thought}]
    return found


async def test_presets_of_conversations_have_all_of_it_in_one_row(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 1) as store:
        await finished(store)
        own, single = await rows(store.room.store, tmp_path, Preset.RUN_INFERENCE)
        assert own["messages"] == [*spoken(2, thoughts=True), {"role": "user", "content": "human 2"}]
        assert (own["content"], own["reasoning"]) == ("c", "thought of c")
        assert single["messages"] == [{"role": "user", "content": "human 0"}]
        whole, _ = await rows(store.room.store, tmp_path, Preset.SPECFORGE)
        assert (whole["id"], whole["conversations"]) == ("c0", spoken(3, thoughts=True))
        inline, _ = await rows(store.room.store, tmp_path, Preset.INLINE_THINK)
        said = [message["content"] for message in inline["conversations"]]
        assert said[1::2] == [f"<think>thought of {words}</think>{words}" for words in "abc"]
        turns = (await rows(store.room.store, tmp_path, Preset.SHAREGPT))[0]["conversations"]
        assert [turn["from"] for turn in turns] == ["human", "gpt"] * 3


async def test_presets_of_generations_have_a_row_a_turn(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 1) as store:
        await finished(store)
        generations = await rows(store.room.store, tmp_path, Preset.MESSAGES)
        assert [row["id"] for row in generations] == ["c0@0", "c0@1", "c0@2", "c1"]
        for turn, row in enumerate(generations[:3]):
            user = {"role": "user", "content": f"human {turn}"}
            assert row["messages"] == [*spoken(turn, thoughts=False), user]
            assert row["completion"] == spoken(turn + 1, thoughts=True)[-1:]
        expanded = await rows(store.room.store, tmp_path, Preset.SPECFORGE_TURNS)
        assert expanded[2]["conversations"] == [
            *spoken(2, thoughts=False), {"role": "user", "content": "human 2"}, spoken(3, thoughts=True)[-1],
        ]  # fmt: skip
        bodies = await rows(store.room.store, tmp_path, Preset.OPENAI_BATCH)
        assert [row["custom_id"] for row in bodies] == ["c0@0", "c0@1", "c0@2", "c1"]


async def test_a_limit_and_the_account_speak_of_jobs(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 1) as store:
        await finished(store)
        target = tmp_path / "one.jsonl"
        request = ExportRequest("talks", target, preset=Preset.MESSAGES, limit=1)
        report = await export_dataset(store.room.store, request)
        assert (report.written.rows, report.left_out) == (3, {"over_limit": 1})
        manifest = json.loads(Path(f"{target}.manifest.json").read_text())
        assert (manifest["rows"], manifest["jobs_exported"], manifest["jobs"]) == (3, 1, 2)


async def test_an_unfinished_conversation_is_left_out_as_what_its_job_is(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        report = await export_dataset(store.room.store, ExportRequest("talks", tmp_path / "out.jsonl"))
        assert (report.written.rows, report.left_out) == (0, {"leased": 1})


async def test_the_archive_of_a_conversation_comes_back_byte_for_byte(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 1) as store:
        await finished(store)
        await rows(store.room.store, tmp_path, Preset.FULL)
    archive = tmp_path / f"{Preset.FULL}.jsonl"
    (tmp_path / "again").mkdir()
    async with open_store(db(tmp_path / "again" / "t.db"), create=True) as other:
        report = await import_file(other, ImportRequest("talks", str(archive)), lambda _progress: None)
        assert (report.added, report.rejected) == (2, 0)
        again = await import_file(other, ImportRequest("talks", str(archive)), lambda _progress: None)
        assert (again.added, again.present) == (0, 2)
        await rows(other, tmp_path / "again", Preset.FULL)
        found: list[Any] = []
        await verify(other, Told(found.append), full=True)
    assert found == []
    assert (tmp_path / "again" / archive.name).read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("preset", [Preset.RUN_INFERENCE, Preset.MESSAGES])
async def test_tool_calls_of_any_turn_count_for_the_conversation(tmp_path: Path, preset: Preset) -> None:
    call = {"name": "lookup", "arguments": "{}"}
    talk = [
        {"from": "human", "value": "weather?"},
        {"from": "function_call", "value": json.dumps(call)},
        {"from": "observation", "value": "sunny"},
        {"from": "gpt", "value": "of the file"},
    ]
    file = tmp_path / "tools.jsonl"
    tools = [{"name": "lookup", "parameters": {}}]
    file.write_text(json.dumps({"id": "t", "tools": tools, "conversations": talk}) + "\n")
    async with open_room(tmp_path / "t.db") as room:
        request = ImportRequest("talks", str(file), Reading(turns=Turns.ALL))
        await import_file(room.store, request, lambda _progress: None)
        store = Talks(room)
        (lease,) = await room.claim(await room.worker())
        sent = [{"id": "x", "type": "function", "function": call}]
        assert await store.answer(lease, 0, chat("why</think>", finish="tool_calls", tool_calls=sent))
        assert await store.answer(lease, 1, "sunny")
        report = await export_dataset(room.store, ExportRequest("talks", tmp_path / "out.jsonl", preset=preset))
        assert report.with_tool_calls == 1


async def test_one_answer_does_not_finish_a_conversation(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        body = json.loads(chat("why</think>a"))
        row = {"custom_id": "c0", "response": {"status_code": 200, "request_id": "r", "body": body}, "error": None}
        file = tmp_path / "results.jsonl"
        file.write_text(json.dumps(row) + "\n")
        report = await import_file(store.room.store, ImportRequest("talks", str(file)), lambda _progress: None)
        assert (report.rejected, report.reasons) == (1, {"conversation": 1})
        assert await store.room.all("SELECT state, turn FROM job") == [("ready", 0)]


async def test_a_conversation_that_ended_early_comes_back_as_such(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        assert await store.answer(lease, 0, chat("why</think>", finish="tool_calls", tool_calls=[call]))
        await rows(store.room.store, tmp_path, Preset.FULL)
    async with open_store(db(tmp_path / "other.db"), create=True) as other:
        archive = tmp_path / f"{Preset.FULL}.jsonl"
        await import_file(other, ImportRequest("talks", str(archive)), lambda _progress: None)
        found: list[Any] = []
        await verify(other, Told(found.append), full=True)
        assert found == []
