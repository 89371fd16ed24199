"""Exports of real stores: exact rows, honest accounts, the same bytes again."""

import gzip
import io
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import zstandard
from sqlalchemy import update

from app.export import census as census_module
from app.export import pages
from app.export import walk as walk_module
from app.export.census import take_census
from app.export.check import check_against, check_file, load_manifest
from app.export.exporting import Incomplete, export_dataset
from app.export.naming import manifest_of
from app.export.request import ExportRequest, Only, Packing
from app.export.sink import LineSink
from app.export.target import Part, part
from app.export.walk import Taking, walk
from app.model.errors import CaptureFailed, IntegrityFailure, NotFound, Refused
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.store.store import Store
from app.store.tables import COUNTER, JOB, READING
from app.store.transaction import Tx
from tests.support.filled import LOST, Filled, chat, filled, thought
from tests.support.typed import COMMAND, environment, typed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest_of(path).read_text())
    return found


def left_by_exports(folder: Path) -> list[Path]:
    return list(folder.glob("d.jsonl*"))


async def change(store: Store, statement: Any) -> None:
    """Do to the store what only an accident would."""

    async def operation(tx: Tx, asked: Sequence[Any]) -> list[None]:
        await tx.seq()
        for one in asked:
            await tx.run(one)
        return [None] * len(asked)

    await store.write(operation, statement)


async def mixed(at: Filled) -> None:
    """Twelve jobs: three captured, one of each loss, one failed, one leased, four ready."""
    await at.dataset("d", 12)
    with_field = chat("answer 3", reasoning="think 3")
    await at.answer_next("d", thought(1), thought(2), with_field, *LOST.values())
    (lease,) = await at.claim(1)
    await at.fail(lease)
    await at.claim(1)


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
    without_times = [{**manifest(path), "times": None, "file": None} for path in (one, two)]
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


async def test_an_existing_file_or_manifest_is_not_touched(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        for taken in (target, manifest_of(target)):
            taken.write_text("mine")
            with pytest.raises(Refused, match="--overwrite"):
                await export_dataset(at.store, ExportRequest("d", target))
            assert taken.read_text() == "mine"
            taken.unlink()


async def test_an_unfinished_dataset_can_be_refused(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        with pytest.raises(Incomplete):
            await export_dataset(at.store, ExportRequest("d", target, require_complete=True))
    assert not target.exists()


async def test_an_unknown_dataset_names_the_known_ones(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("known", 1)
        with pytest.raises(NotFound, match="known"):
            await export_dataset(at.store, ExportRequest("other", tmp_path / "d.jsonl"))


async def test_counters_that_do_not_add_up_refuse_the_export(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await change(at.store, update(COUNTER).where(COUNTER.c.metric == "state:ready").values(n=99))
        with pytest.raises(IntegrityFailure, match="12 jobs"):
            await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl"))
    assert left_by_exports(tmp_path) == []


async def test_a_done_job_whose_answer_is_gone_refuses_the_export(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await change(at.store, update(JOB).where(JOB.c.sample_id == "s1").values(verdict=Verdict.CAPTURED_FIELD))
        with pytest.raises(IntegrityFailure, match="differ in verdicts"):
            await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl"))
        await change(at.store, READING.delete().where(READING.c.response_id == 1))
        with pytest.raises(IntegrityFailure, match="11 were accounted for"):
            await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl"))
    assert left_by_exports(tmp_path) == []


def request_for(target: Path) -> ExportRequest:
    return ExportRequest("d", target)


async def test_a_file_that_does_not_hold_what_was_written_is_not_put_in_place(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    made = Part(request_for(target), target)
    made.begin()
    made.sink.write([b'{"n":1}\n'] * 100)
    with made.path.open("ab") as other:
        other.write(b"x" * 2000)
    with pytest.raises(IntegrityFailure, match="does not hold"):
        made.seal()
    made.close()
    assert left_by_exports(tmp_path) == []


async def test_two_exports_of_one_file_exclude_each_other(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    with part(request_for(target), target), pytest.raises(Refused, match="another export"):
        Part(request_for(target), target)


async def test_what_a_killed_export_left_is_written_over(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    (tmp_path / "d.jsonl.part").write_bytes(b"left over\n" * 1000)
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target))
    assert len(rows(target)) == 3
    assert not (tmp_path / "d.jsonl.part").exists()


async def test_a_check_finds_a_changed_byte(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target))
    check_file(load_manifest(target))
    target.write_bytes(target.read_bytes().replace(b"think 2", b"think 7"))
    with pytest.raises(IntegrityFailure, match="sha256"):
        check_file(load_manifest(target))


async def test_another_store_is_not_compared(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await mixed(at)
        await export_dataset(at.store, ExportRequest("d", target))
    async with filled(tmp_path / "other.db") as at:
        assert not await check_against(at.store, load_manifest(target))


# The command


def fill(folder: Path) -> str:
    async def make() -> None:
        async with filled(folder / "t.db") as at:
            await mixed(at)
            await at.dataset("whole", 2)
            await at.answer_next("whole", thought(1), thought(2))

    anyio.run(make)
    return str(folder / "t.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path)
    return tmp_path


def exported(folder: Path, *arguments: str, db: str = "t.db") -> int:
    done = typed(folder, "--db", db, "export", *arguments)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode


def test_exit_codes_tell_what_came_of_it(folder: Path) -> None:
    assert exported(folder, "--dataset", "whole") == 0
    assert exported(folder, "--dataset", "whole") == 4
    assert exported(folder, "--dataset", "d") == 6
    assert exported(folder, "--dataset", "d", "--overwrite", "--allow-incomplete") == 0
    assert exported(folder, "--dataset", "d", "-o", "x", "--require-complete") == 6
    assert exported(folder, "--dataset", "d", "-o", "x", "--only", "done") == 7
    assert exported(folder, "--dataset", "nope") == 3
    assert exported(folder) == 2
    assert exported(folder, "--dataset", "d", "-o", "no/folder/x") == 3
    assert exported(folder, "--dataset", "whole", db="absent.db") == 3
    assert not (folder / "x").exists()


def test_numbers_come_first_and_data_alone_on_stdout(folder: Path) -> None:
    done = typed(folder, "--db", "t.db", "export", "--dataset", "d", "-o", "-")
    assert done.returncode == 6
    assert [json.loads(line)["sample_id"] for line in done.stdout.splitlines()] == ["s1", "s2", "s3"]
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("d: 12 jobs, 6 done")
    assert said[1] == (
        f"d: 3 rows, about {len(done.stdout)} B; left out 4: 1 failed:rejected, 1 leaked, 1 missing, 1 truncated; "
        "5 not generated yet"
    )
    assert "NOT FINISHED" in said[2]
    assert not list(folder.glob("*.manifest.json"))


def test_the_suffix_chooses_the_packing_and_a_check_reads_it(folder: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst"):
        assert exported(folder, "--dataset", "whole", "-o", name) == 0
        assert exported(folder, "--check", name) == 0
    plain = (folder / "a.jsonl").read_bytes()
    assert gzip.decompress((folder / "a.jsonl.gz").read_bytes()) == plain
    packed = (folder / "a.jsonl.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == plain
    assert exported(folder, "--dataset", "whole", "-o", "b.gz", "--zstd") == 2


def test_a_check_without_a_store_or_of_a_damaged_file(folder: Path) -> None:
    assert exported(folder, "--dataset", "whole") == 0
    assert exported(folder, "--check", "whole.jsonl", db="absent.db") == 0
    file = folder / "whole.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    assert exported(folder, "--check", "whole.jsonl") == 8
    assert exported(folder, "--check", "nothing.jsonl") == 3


def test_a_reader_that_has_enough_is_no_error(folder: Path) -> None:
    command = [*COMMAND, "--db", "t.db", "export", "--dataset", "whole", "-o", "-"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(command, cwd=folder, stdout=write_end, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(write_end)
    assert done.returncode == 141
    assert b"rror" not in done.stderr
