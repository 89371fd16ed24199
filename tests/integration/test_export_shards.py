"""Exports in shards and as tables: the rows of the one file, in files that are whole or not there."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from app.export import exporting, pages
from app.export.check import check_against, check_file, load_manifest
from app.export.exporting import Listener, export_dataset
from app.export.naming import manifest_of
from app.export.presets import Preset
from app.export.request import ExportRequest, Format, Packing
from app.model.errors import IntegrityFailure, NotFound, Refused
from tests.support.filled import LOST, Filled, chat, filled, thought

pytestmark = pytest.mark.anyio


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


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("d[.-]*"))


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest_of(path).read_text())
    return found


THREE = [f"d-0000{number}-of-00003.jsonl" for number in range(3)]


async def test_shards_one_after_another_are_the_one_file(tmp_path: Path) -> None:
    target, whole = tmp_path / "d.jsonl", tmp_path / "whole.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", whole))
        report = await export_dataset(at.store, ExportRequest("d", target, shard_size=3))
        assert names(tmp_path) == [*THREE, "d.jsonl.manifest.json"]
        assert await check_against(at.store, load_manifest(target))
    shards = [(tmp_path / name).read_bytes() for name in THREE]
    assert b"".join(shards) == whole.read_bytes()
    assert [shard.count(b"\n") for shard in shards] == [3, 3, 2]
    said, plain = manifest(target), manifest(whole)
    assert [one["file"] for one in said["shards"]] == THREE
    assert [one["rows"] for one in said["shards"]] == [3, 3, 2]
    assert (said["sha256"], said["bytes"], said["rows"]) == (plain["sha256"], plain["bytes"], plain["rows"])
    assert said["rows"] + sum(said["left_out"].values()) == said["jobs"] == 11
    assert report.written.rows == 8


async def test_rows_that_end_with_a_shard_make_no_empty_one_and_no_row_makes_one(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl", shard_size=4))
        await export_dataset(at.store, ExportRequest("d", tmp_path / "d.none.jsonl", shard_size=4, limit=0))
    shards = [f"d-0000{number}-of-00002.jsonl" for number in range(2)]
    assert names(tmp_path) == [
        *shards, "d.jsonl.manifest.json", "d.none-00000-of-00001.jsonl", "d.none.jsonl.manifest.json"
    ]  # fmt: skip
    assert (tmp_path / "d.none-00000-of-00001.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("file_format", "packing"),
    [(Format.JSONL, Packing.PLAIN), (Format.JSONL, Packing.GZIP), (Format.JSONL, Packing.ZSTD),
     (Format.PARQUET, Packing.PLAIN)],
)  # fmt: skip
@pytest.mark.parametrize("rows", [0, 2, 4, 8])
async def test_a_resumed_export_in_shards_is_that_of_its_beginning(
    tmp_path: Path, file_format: Format, packing: Packing, rows: int
) -> None:
    folder = tmp_path / "whole"
    folder.mkdir()
    options: dict[str, Any] = {"format": file_format, "packing": packing, "shard_size": 3}
    request = ExportRequest("d", tmp_path / "d.x", resume=True, **options)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", folder / "d.x", **options))
        with pytest.raises(Cut):
            await export_dataset(at.store, request, listener=cut_after(rows))
        assert {"d.x.part", "d.x.part.json"} <= set(names(tmp_path))
        await at.answer_next("d", thought(99))  # after the census: not in these files
        resumed: list[int] = []
        await export_dataset(at.store, request, listener=Listener(on_resume=resumed.append))
    assert names(tmp_path) == names(folder)
    assert [(tmp_path / name).read_bytes() for name in names(folder)[:3]] == [
        (folder / name).read_bytes() for name in names(folder)[:3]
    ]
    plain = file_format is Format.JSONL and packing is Packing.PLAIN
    assert (resumed[0] > 0) is (plain and rows > 2)


@pytest.mark.parametrize("damage", ["short", "changed", "gone"])
async def test_shards_that_are_not_what_was_noted_are_made_anew(tmp_path: Path, damage: str) -> None:
    request = ExportRequest("d", tmp_path / "d.jsonl", shard_size=3, resume=True)
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        with pytest.raises(Cut):
            await export_dataset(at.store, request, listener=cut_after(6))
        first = tmp_path / "d.jsonl.part-00000"
        data = first.read_bytes()
        first.write_bytes({"short": data[:-3], "changed": b"x" + data[1:], "gone": data}[damage])
        if damage == "gone":
            first.unlink()
        await export_dataset(at.store, request)
        assert await check_against(at.store, load_manifest(tmp_path / "d.jsonl"))
    check_file(load_manifest(tmp_path / "d.jsonl"))
    assert names(tmp_path) == [*THREE, "d.jsonl.manifest.json"]


@pytest.mark.parametrize("renames", [0, 1, 2, 3])
async def test_shards_killed_between_their_renames_get_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    request = ExportRequest("d", tmp_path / "d.jsonl", shard_size=3, resume=True)
    rename, left = Path.replace, renames

    def cut(self: Path, target: Path) -> Path:
        nonlocal left
        if ".part-" in self.name:
            left -= 1
            if left < 0:
                raise Cut
        return rename(self, target)

    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", cut)
            if renames == 3:
                patch.setattr(exporting, "as_text", _cut)
            with pytest.raises(Cut):
                await export_dataset(at.store, request)
        assert sum("-of-" in name for name in names(tmp_path)) == renames
        await export_dataset(at.store, request)
    check_file(load_manifest(tmp_path / "d.jsonl"))
    assert names(tmp_path) == [*THREE, "d.jsonl.manifest.json"]


def _cut(*_: Any) -> None:
    raise Cut


async def test_shards_are_replaced_on_a_word_only_and_none_of_another_count_stays(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", target, shard_size=3))
        with pytest.raises(Refused, match=r"d-00000-of-00003\.jsonl exists"):
            await export_dataset(at.store, ExportRequest("d", target, shard_size=5))
        await export_dataset(at.store, ExportRequest("d", target, shard_size=5, overwrite=True))
        assert names(tmp_path) == [
            "d-00000-of-00002.jsonl", "d-00001-of-00002.jsonl", "d.jsonl.manifest.json"
        ]  # fmt: skip
        await export_dataset(at.store, ExportRequest("d", target, overwrite=True))
        assert names(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]
        await export_dataset(at.store, ExportRequest("d", target, shard_size=9, overwrite=True))
    assert names(tmp_path) == ["d-00000-of-00001.jsonl", "d.jsonl.manifest.json"]


async def test_a_shard_that_no_manifest_lists_is_neither_replaced_nor_mixed_in(tmp_path: Path) -> None:
    """It may be somebody's: published datasets are called like that."""
    target, other = tmp_path / "d.jsonl", tmp_path / "d-00003-of-00004.jsonl"
    other.write_text("somebody's\n")
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        with pytest.raises(Refused, match=r"no manifest of d\.jsonl lists it"):
            await export_dataset(at.store, ExportRequest("d", target, shard_size=3, overwrite=True))
        await export_dataset(at.store, ExportRequest("d", target, overwrite=True))
    assert other.read_text() == "somebody's\n"


async def test_without_resume_unfinished_shards_go(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        with pytest.raises(Cut):
            await export_dataset(at.store, ExportRequest("d", target, shard_size=2), listener=cut_after(6))
        assert "d.jsonl.part-00002" in names(tmp_path)
        await export_dataset(at.store, ExportRequest("d", target))
    assert names(tmp_path) == ["d.jsonl", "d.jsonl.manifest.json"]


async def test_a_check_is_of_every_shard_by_any_of_its_names(tmp_path: Path) -> None:
    target = tmp_path / "d.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", target, shard_size=3))
    for path in (target, tmp_path / THREE[1], manifest_of(target)):
        assert len(load_manifest(path).files) == 3
    last = tmp_path / THREE[2]
    last.write_bytes(last.read_bytes().replace(b"think 7", b"think 8"))
    with pytest.raises(IntegrityFailure, match="00002-of-00003"):
        check_file(load_manifest(target))
    last.unlink()
    with pytest.raises(NotFound, match="00002-of-00003"):
        load_manifest(target)


# Tables


async def test_a_table_is_the_lines_and_the_same_bytes_again(tmp_path: Path) -> None:
    one, two, lines = tmp_path / "one.parquet", tmp_path / "two.parquet", tmp_path / "lines"
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        for target in (one, two):
            await export_dataset(at.store, ExportRequest("d", target, format=Format.PARQUET))
        await export_dataset(at.store, ExportRequest("d", lines))
        assert await check_against(at.store, load_manifest(one))
    assert one.read_bytes() == two.read_bytes()
    rows = [json.loads(line) for line in lines.read_bytes().splitlines()]
    table = pq.read_table(one).to_pylist()
    assert [row["reasoning"] for row in table] == [row["reasoning"] for row in rows]
    assert [json.loads(row["usage"]) for row in table] == [row["usage"] for row in rows]
    assert manifest(one)["uncompressed_sha256"] == manifest(lines)["sha256"]
    check_file(load_manifest(one))
    one.write_bytes(one.read_bytes()[:-9])
    with pytest.raises(IntegrityFailure, match="sha256"):
        check_file(load_manifest(one))


@pytest.mark.parametrize("preset", [one for one in Preset if one not in (Preset.TOKENS, Preset.TEXT)])
async def test_what_a_table_cannot_hold_is_left_out_by_id_and_adds_up(tmp_path: Path, preset: Preset) -> None:
    target = tmp_path / "d.parquet"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        await at.answer_next("d", thought(1), chat("a\ud800</think>b"), chat("NUL \x00 \u2028</think>\r\n"))
        request = ExportRequest("d", target, format=Format.PARQUET, preset=preset)
        await export_dataset(at.store, request)
        assert await check_against(at.store, load_manifest(target))
    said = manifest(target)
    holds_it = preset is Preset.OPENAI_BATCH  # as JSON text, where it is an escape
    assert said["rows"] == (3 if holds_it else 2)
    assert said["left_out"] == ({} if holds_it else {"parquet:lone_surrogate": 1})
    assert [one["sample_id"] for one in said["left_out_ids"]["ids"]] == ([] if holds_it else ["s2"])


async def test_a_table_that_left_something_out_is_no_copy_of_the_dataset(tmp_path: Path) -> None:
    """`datasets delete` relies on what the store was told."""
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await at.answer_next("d", chat("a\ud800</think>b"))
        told: list[int] = []
        for number, file_format in enumerate(Format):
            await export_dataset(at.store, ExportRequest("d", tmp_path / str(number), format=file_format))
            async with at.store.snapshot() as reads:
                told.append(json.loads((await reads.rows(_newest()))[0].detail)["limited"])
    assert told == [0, 1]


def _newest() -> Any:
    from app.store.tables import EVENT

    return EVENT.select().where(EVENT.c.kind == "exported").order_by(EVENT.c.id.desc())


async def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await eleven(at)
        await export_dataset(at.store, ExportRequest("d", tmp_path / "d.jsonl", shard_size=3))
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names(tmp_path)} == {0o600}
