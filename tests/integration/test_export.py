"""Exports of real stores: exact rows, honest accounts, the same bytes again."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import update

from app.export import census as census_module
from app.export import pages
from app.export import walk as walk_module
from app.export.census import take_census
from app.export.check import check_against, load_manifest
from app.export.exporting import export_dataset
from app.export.request import ExportRequest, Only, Packing
from app.export.sink import LineSink
from app.export.walk import Taking, walk
from app.model.errors import CaptureFailed
from app.model.states import JobState
from app.store.tables import JOB, READING
from app.store.transaction import Tx
from tests.integration.export_kit import change, left_by_exports, manifest, mixed, rows
from tests.support.filled import chat, filled, thought
from tests.support.kinds import as_counted

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_captured_rows_come_in_import_order_with_the_old_keys(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        report = await export_dataset(at.store, ExportRequest("d", target))
    assert [row["sample_id"] for row in rows(target)] == ["s1", "s2", "s3"]
    assert rows(target)[0] == {
        "sample_id": "s1",
        "messages": [{"role": "user", "content": "question 1"}],
        "reasoning": "think 1",
        "content": "answer 1",
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 7, "completion_tokens": 50, "total_tokens": 57},
    }
    assert rows(target)[2]["reasoning"] == "think 3"
    assert not report.complete


async def test_the_manifest_accounts_for_every_job(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target))
    said = manifest(target)
    assert said["left_out"] == {
        "failed:rejected": 1, "leaked": 1, "leased": 1, "missing": 1, "ready": 4, "truncated": 1,
    }  # fmt: skip
    assert said["rows"] + sum(said["left_out"].values()) == said["jobs"] == 12
    assert said["left_out_ids"]["count"] == len(said["left_out_ids"]["ids"]) == 9
    assert said["left_out_ids"]["all_listed"] is True
    assert {"sample_id": "s7", "reason": "failed:rejected"} in said["left_out_ids"]["ids"]
    assert said["verdicts"] == {"captured_field": 1, "split_from_content": 2}
    assert said["complete"] is False
    assert said["sources"][0]["sha256"] == "ab" * 32
    assert said["servers"][0]["rows"] == 3
    assert said["bytes"] == target.stat().st_size


async def test_ids_that_are_left_out_are_listed_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census_module, "IDS_LISTED", 2)
    monkeypatch.setattr(walk_module, "IDS_LISTED", 2)
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target))
    listed = manifest(target)["left_out_ids"]
    assert (listed["count"], listed["all_listed"], len(listed["ids"])) == (9, False, 4)


@pytest.mark.parametrize("length", [1, 2, 5, 200])
async def test_the_bytes_do_not_depend_on_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        whole = io.BytesIO()
        await export_dataset(at.store, ExportRequest("d", None), stream=whole)
        monkeypatch.setattr(pages, "FIRST_PAGE", length)
        monkeypatch.setattr(pages, "LARGEST_PAGE", length)
        paged = io.BytesIO()
        await export_dataset(at.store, ExportRequest("d", None), stream=paged)
    assert paged.getvalue() == whole.getvalue()
    assert len(whole.getvalue().splitlines()) == 3


@pytest.mark.parametrize("packing", list(Packing))
async def test_a_repeated_export_is_byte_identical(tmp_path: Path, packing: Packing) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        for target in (one, two):
            await export_dataset(at.store, ExportRequest("d", target, packing=packing))
    assert one.read_bytes() == two.read_bytes()
    without_times = [{**as_counted(manifest(path)), "times": None, "file": None} for path in (one, two)]
    assert without_times[0] == without_times[1]


async def test_answers_that_come_after_the_census_are_not_in_the_file(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        census = await take_census(at.store, "d")
        await at.answer_next("d", thought(9), thought(10))
        sink = LineSink(None)
        walked = await walk(at.store, census, Taking(Only.CAPTURED, None, allow_uncaptured=False), sink)
        assert walked.rows == 3
        assert (await export_dataset(at.store, ExportRequest("d", None))).written.rows == 5


async def test_an_answer_that_was_replaced_later_counts_as_it_stood(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 2)
        await at.answer_next("d", thought(1), thought(2))
        await export_dataset(at.store, ExportRequest("d", target))
        before = target.read_bytes()
        await change(at.store, update(JOB).where(JOB.c.sample_id == "s1").values(state=JobState.READY))
        standing = await export_dataset(at.store, ExportRequest("d", tmp_path / "standing.jsonl"))
        assert (tmp_path / "standing.jsonl").read_bytes() == before
        assert not standing.complete
        await at.answer_next("d", thought(7))
        assert await check_against(at.store, load_manifest(target))
        await export_dataset(at.store, ExportRequest("d", target, overwrite=True))
    assert [row["content"] for row in rows(target)] == ["answer 7", "answer 2"]


async def test_a_newer_reading_takes_the_place_of_the_older(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await at.answer_next("d", thought(1))
        await export_dataset(at.store, ExportRequest("d", target))

        async def reparse(tx: Tx, asked: Sequence[None]) -> list[None]:
            columns = [column.name for column in READING.c if column.name not in ("seq", "reasoning")]
            old = await tx.first(READING.select())
            assert old is not None
            values = {name: getattr(old, name) for name in columns}
            await tx.run(READING.insert(), {**values, "seq": await tx.seq(), "reasoning": "read anew"})
            return [None for _ in asked]

        await at.store.write(reparse, None)
        assert await check_against(at.store, load_manifest(target))
        await export_dataset(at.store, ExportRequest("d", target, overwrite=True))
    assert [row["reasoning"] for row in rows(target)] == ["read anew"]


async def test_done_refuses_rows_that_lost_their_reasoning(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        with pytest.raises(CaptureFailed, match="3 answers"):
            await export_dataset(at.store, ExportRequest("d", target, only=Only.DONE))
        assert left_by_exports(tmp_path) == []
        await export_dataset(at.store, ExportRequest("d", target, only=Only.DONE, allow_uncaptured=True))
    assert len(rows(target)) == 6


async def test_answers_without_thinking_are_exported_where_it_was_switched_off(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1, thinking=False)
        await at.answer_next("d", chat("plain"))
        report = await export_dataset(at.store, ExportRequest("d", target))
    assert report.complete
    assert [(row["reasoning"], row["content"]) for row in rows(target)] == [(None, "plain")]


async def test_each_replica_is_a_row_that_says_which(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 2, replicas=2)
        await at.answer_next("d", *[thought(number) for number in range(4)])
        await export_dataset(at.store, ExportRequest("d", target))
    assert [(row["sample_id"], row["replica"]) for row in rows(target)] == [("s1", 0), ("s1", 1), ("s2", 0), ("s2", 1)]


async def test_tool_calls_of_a_field_are_a_seventh_key(tmp_path: Path) -> None:
    calls = [{"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 2)
        body = chat(None, reasoning="call it", tool_calls=calls, finish="tool_calls")
        await at.answer_next("d", body, thought(2))
        report = await export_dataset(at.store, ExportRequest("d", target))
    assert rows(target)[0]["tool_calls"] == calls
    assert "tool_calls" not in rows(target)[1]
    assert report.with_tool_calls == 1


async def test_text_that_no_column_can_hold_comes_out_as_it_came_in(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1, prompts=["中\u2028 \x00 🙂"])
        await at.answer_next("d", chat("a\x00b\ud800\u2028</think>c\udfff\r\n"))
        await export_dataset(at.store, ExportRequest("d", target))
    (line,) = target.read_bytes().removesuffix(b"\n").split(b"\n")
    row = json.loads(line)
    assert (row["reasoning"], row["content"]) == ("a\x00b\ud800\u2028", "c\udfff\r\n")
    assert row["messages"][0]["content"] == "中\u2028 \x00 🙂"
    assert "\u2028".encode() in line


async def test_a_limit_is_a_reason_to_be_left_out(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target, limit=1))
    assert len(rows(target)) == 1
    assert manifest(target)["left_out"]["over_limit"] == 2
