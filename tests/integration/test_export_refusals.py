"""What an export refuses, and what it never does to a file that is there."""

from pathlib import Path

import pytest
from sqlalchemy import text, update

from app.export.check import check_against, check_file, load_manifest
from app.export.exporting import Incomplete, export_dataset
from app.export.naming import manifest_of
from app.export.request import ExportRequest
from app.export.target import Part, part
from app.model.errors import IntegrityFailure, NotFound, Refused
from app.model.verdicts import Verdict
from app.store.tables import JOB, READING
from tests.integration.export_kit import change, left_by_exports, mixed, rows
from tests.support.filled import filled
from tests.support.kinds import summed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
        await change(at.store, text(f"UPDATE {summed('counter')} SET n = 99 WHERE metric = 'state:ready'"))
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
