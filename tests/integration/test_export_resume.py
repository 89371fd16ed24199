"""Exports that are cut off: what is left, how it goes on, and that the bytes are those of an export that was not."""

import errno
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.export import exporting, pages, target
from app.export.exporting import Listener, export_dataset
from app.export.naming import manifest_of
from app.export.request import ExportRequest, Only, Packing
from app.export.target import Part, part
from app.export.unfinished import load, notes_of
from app.model.errors import IntegrityFailure, Refused, ResourceExhausted, UsageError
from app.store.tables import EVENT
from tests.support.filled import LOST, Filled, filled, thought
from tests.support.forks import environment
from tests.support.kinds import as_counted
from tests.support.typed import typed

pytestmark = pytest.mark.anyio
KILLS = int(os.environ.get("EXPORT_KILLS", "12"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def many_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "NOTE_EVERY_BYTES", 1)
    monkeypatch.setattr(pages, "FIRST_PAGE", 2)
    monkeypatch.setattr(pages, "LARGEST_PAGE", 2)


class Cut(BaseException):
    """Ends an export as an interrupt does."""


def cut_after(rows: int) -> Listener:
    def on_rows(written: int) -> None:
        if written >= rows:
            raise Cut

    return Listener(on_rows=on_rows)


async def eleven(at: Filled) -> None:
    """Eight captured answers, two lost ones between them, and one job that nobody answered."""
    await at.dataset("d", 11)
    bodies = [thought(number) for number in range(8)]
    bodies[3:3] = [LOST[next(iter(LOST))]] * 2
    await at.answer_next("d", *bodies)


async def cut_off(at: Filled, request: ExportRequest, rows: int) -> None:
    """An export that ends in the middle."""
    with pytest.raises(Cut):
        await export_dataset(at.store, request, listener=cut_after(rows))


async def plainly(at: Filled) -> bytes:
    whole = io.BytesIO()
    await export_dataset(at.store, ExportRequest("d", None), stream=whole)
    return whole.getvalue()


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest_of(path).read_text())
    return as_counted(found) | {"times": None, "file": None}


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("d.jsonl*"))


@pytest.mark.parametrize("packing", list(Packing))
@pytest.mark.parametrize("rows", [0, 1, 4, 8])
async def test_a_resumed_export_is_that_of_its_beginning_byte_for_byte(
    tmp_path: Path, packing: Packing, rows: int
) -> None:
    file, whole = tmp_path / "d.jsonl", tmp_path / "whole"
    request = ExportRequest("d", file, packing=packing, resume=True)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", whole, packing=packing))
        await cut_off(at, request, rows)
        assert left(tmp_path) == ["d.jsonl.part", "d.jsonl.part.json"]
        await at.answer_next("d", thought(99))  # after the census: not in this file
        resumed: list[int] = []
        await export_dataset(at.store, request, listener=Listener(on_resume=resumed.append))
    assert file.read_bytes() == whole.read_bytes()
    assert manifest(file) == manifest(whole)
    assert left(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]
    assert len(resumed) == 1
    assert (resumed[0] > 0) is (packing is Packing.PLAIN and rows > 1)


async def test_without_resume_it_starts_again_as_of_now(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await cut_off(at, ExportRequest("d", file), 4)
        await at.answer_next("d", thought(99))
        await export_dataset(at.store, ExportRequest("d", file))
        assert file.read_bytes() == await plainly(at)
    assert file.read_bytes().count(b"\n") == 9
    assert left(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]


async def test_resume_with_nothing_to_go_on_with_is_an_export(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", file, resume=True))
        assert file.read_bytes() == await plainly(at)
        with pytest.raises(Refused, match="exists"):
            await export_dataset(at.store, ExportRequest("d", file, resume=True))


async def test_lines_that_are_not_what_was_noted_are_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    request = ExportRequest("d", file, resume=True)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        for damage in (lambda data: data[:-9], lambda data: b"x" + data[1:], lambda data: data + b"torn"):
            await cut_off(at, request, 6)
            half = tmp_path / "d.jsonl.part"
            half.write_bytes(damage(half.read_bytes()))
            await export_dataset(at.store, request)
            assert file.read_bytes() == await plainly(at)
            file.unlink()
            manifest_of(file).unlink()


async def test_another_store_or_other_options_do_not_go_on(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await at.dataset("e", 1)
        await cut_off(at, ExportRequest("d", file), 4)
        half = (tmp_path / "d.jsonl.part").read_bytes()
        for other in (
            ExportRequest("e", file, resume=True),
            ExportRequest("d", file, resume=True, limit=3),
            ExportRequest("d", file, resume=True, packing=Packing.GZIP),
            ExportRequest("d", file, resume=True, only=Only.DONE, allow_uncaptured=True),
        ):
            with pytest.raises(UsageError, match="was begun by"):
                await export_dataset(at.store, other)
    async with filled(tmp_path / "other.db") as at:
        await eleven(at)
        with pytest.raises(Refused, match="another store"):
            await export_dataset(at.store, ExportRequest("d", file, resume=True))
    assert (tmp_path / "d.jsonl.part").read_bytes() == half


async def test_a_refused_export_leaves_one_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await cut_off(at, ExportRequest("d", file), 4)
        with pytest.raises(exporting.Incomplete):
            await export_dataset(at.store, ExportRequest("d", file, require_complete=True))
        await export_dataset(at.store, ExportRequest("d", file, resume=True))
        assert file.read_bytes() == await plainly(at)


@pytest.mark.parametrize("step", ["place", "manifest", "record"])
async def test_an_export_killed_at_its_end_is_ended_by_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Between the last line and the last rename: sealed, named, without its manifest or its record."""
    file, whole = tmp_path / "d.jsonl", tmp_path / "whole"
    request = ExportRequest("d", file, resume=True, overwrite=True)

    def cut(*_: Any) -> None:
        raise Cut

    names = {"place": (Part, "put_in_place"), "manifest": (exporting, "as_text"), "record": (exporting, "record")}
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        file.write_text("an earlier file\n")
        await export_dataset(at.store, ExportRequest("d", whole))
        with monkeypatch.context() as patch:
            patch.setattr(*names[step], cut)
            with pytest.raises(Cut):
                await export_dataset(at.store, request)
        assert (file.read_bytes() == b"an earlier file\n") is (step == "place")
        await export_dataset(at.store, request)
    assert file.read_bytes() == whole.read_bytes()
    assert manifest(file) == manifest(whole)
    assert left(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]


class FullDisk:
    """A write that goes through, until it does not."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._fsync = os.fsync

    def __call__(self, descriptor: int) -> None:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._fsync(descriptor)


async def test_a_disk_full_at_any_write_keeps_what_was_written_and_an_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, full = tmp_path / "d.jsonl", 0
    request = ExportRequest("d", file, resume=True, overwrite=True)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        whole = await plainly(at)
        while True:
            file.write_text("an earlier file\n")
            with monkeypatch.context() as patch:
                patch.setattr(target.os, "fsync", FullDisk(full))
                try:
                    await export_dataset(at.store, request)
                except ResourceExhausted as error:
                    assert "--resume goes on" in str(error)  # noqa: PT017 - how often it fails is what is looked for
                else:
                    break
            full += 1
            assert file.read_bytes() in (b"an earlier file\n", whole)
            assert notes_of(tmp_path / "d.jsonl.part").exists() is (full > 3)
            await export_dataset(at.store, request)
            assert file.read_bytes() == whole
            assert left(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]
    assert full > 20


async def test_a_finished_file_is_never_truncated_by_an_export_that_opened_it_as_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second export opens `.part`, the first gives it its name, and only then the second gets the lock."""
    file = tmp_path / "d.jsonl"
    flock = target.fcntl.flock
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        with part(ExportRequest("d", file), file) as first:
            first.begin()
            first.sink.write([b'{"n":1}\n'])
            written = first.seal()

            def finished_meanwhile(descriptor: int, how: int) -> None:
                monkeypatch.setattr(target.fcntl, "flock", flock)
                first.put_in_place(written)
                first.close()
                flock(descriptor, how)

            monkeypatch.setattr(target.fcntl, "flock", finished_meanwhile)
            with pytest.raises(Refused, match="exists"):
                await export_dataset(at.store, ExportRequest("d", file))
    assert file.read_bytes() == b'{"n":1}\n'
    assert left(tmp_path) == ["d.jsonl"]


async def test_a_part_that_went_away_before_the_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "d.jsonl"
    flock = target.fcntl.flock

    def gone_meanwhile(descriptor: int, how: int) -> None:
        monkeypatch.setattr(target.fcntl, "flock", flock)
        (tmp_path / "d.jsonl.part").unlink()
        flock(descriptor, how)

    monkeypatch.setattr(target.fcntl, "flock", gone_meanwhile)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", file))
        assert file.read_bytes() == await plainly(at)


async def test_an_answer_that_cannot_be_exported_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        monkeypatch.setattr(exporting, "walk", _refusing)
        with pytest.raises(IntegrityFailure):
            await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl"))
    assert left(tmp_path) == []


async def _refusing(*_: Any, **__: Any) -> None:
    raise IntegrityFailure("damaged")


async def test_notes_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    half = tmp_path / "d.jsonl.part"
    notes_of(half).write_text('{"asked": 1')
    with pytest.raises(UsageError, match="Without --resume"):
        load(half)


@pytest.mark.on_files
async def test_a_finished_file_is_noted_in_the_store(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        before = await at.store.seq()
        report = await export_dataset(at.store, ExportRequest("d", file))
        async with at.store.snapshot() as reads:
            (event,) = await reads.rows(EVENT.select().where(EVENT.c.kind == "exported"))
        assert await at.store.seq() == before
    detail = json.loads(event.detail)
    assert detail == {
        "file": str(file), "seq": report.census.seq, "only": "captured", "limited": 0, "rows": 8,
        "bytes": file.stat().st_size, "sha256": report.written.sha256, "shards": [],
    }  # fmt: skip


# Real processes

CHILD = """
import sys
from app.export import exporting, pages
exporting.NOTE_EVERY_BYTES = 2000
pages.FIRST_PAGE = pages.LARGEST_PAGE = 3
from worker.cli import call
sys.exit(call(sys.argv[1:]))
"""


def fill(folder: Path, jobs: int) -> None:
    async def make() -> None:
        async with filled(folder / "t.db") as at:
            await at.dataset("d", jobs)
            for start in range(0, jobs, 50):
                await at.answer_next("d", *(thought(number) for number in range(start, min(jobs, start + 50))))

    anyio.run(make)


@pytest.mark.on_files
def test_an_export_killed_at_any_moment_ends_with_the_same_bytes(tmp_path: Path) -> None:
    fill(tmp_path, 600)
    assert typed(tmp_path, "--db", "t.db", "export", "--dataset", "d", "-o", "whole.jsonl").returncode == 0
    command = [sys.executable, "-c", CHILD, "--db", "t.db", "export", "--dataset", "d", "--resume"]
    chance = random.Random(7)
    killed = 0
    for _ in range(KILLS):
        child = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
        aim = chance.randrange(90_000)
        while child.poll() is None and _size(tmp_path / "d.jsonl.part") < aim:
            time.sleep(0.001)  # a look at the file again
        time.sleep(chance.random() * 0.02)
        killed += child.poll() is None
        child.kill()
        child.wait()
        if (tmp_path / "d.jsonl").exists() and not list(tmp_path.glob("d.jsonl.part*")):
            _check_whole(tmp_path)
            for path in tmp_path.glob("d.jsonl*"):
                path.unlink()
    assert killed > 0
    if list(tmp_path.glob("d.jsonl*")):
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        _check_whole(tmp_path)
    assert not list(tmp_path.glob("d.jsonl.part*"))


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _check_whole(folder: Path) -> None:
    assert (folder / "d.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert manifest(folder / "d.jsonl")["sha256"] == manifest(folder / "whole.jsonl")["sha256"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.on_files
def test_a_disk_that_is_really_full_is_exit_9_and_resume_goes_on_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    fill(tmp_path, 600)
    (small_disk / "ballast").write_bytes(b"x" * 180_000)
    (small_disk / "d.jsonl").write_text("an earlier file\n")
    arguments = ["--db", "t.db", "export", "--dataset", "d", "-o", "small/d.jsonl", "--overwrite", "--resume"]
    command = [sys.executable, "-c", CHILD, *arguments]
    full = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert full.returncode == 9, full.stderr
    assert b"is full. Free some space, then the same command with --resume goes on" in full.stderr
    assert b"Traceback" not in full.stderr
    assert (small_disk / "d.jsonl").read_text() == "an earlier file\n"
    assert (small_disk / "d.jsonl.part").stat().st_size > 0
    (small_disk / "ballast").unlink()
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"goes on after" in done.stderr
    assert typed(tmp_path, "--db", "t.db", "export", "--dataset", "d", "-o", "whole.jsonl").returncode == 0
    assert (small_disk / "d.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.on_files
def test_resume_does_not_go_with_stdout(tmp_path: Path) -> None:
    done = typed(tmp_path, "export", "--dataset", "d", "-o", "-", "--resume")
    assert (done.returncode, b"--resume" in done.stderr) == (2, True)
