"""How large an export will be is said before it is written, whatever it is cut into."""

import random
from pathlib import Path

import pytest

from app.export.census import take_census
from app.export.exporting import export_dataset
from app.export.foreseen import foresee
from app.export.request import ExportRequest, Format, Packing
from tests.support.filled import chat, filled

pytestmark = pytest.mark.anyio

JOBS = 200
FILES = {"d.jsonl": (Format.JSONL, Packing.PLAIN), "d.jsonl.gz": (Format.JSONL, Packing.GZIP),
         "d.parquet": (Format.PARQUET, Packing.PLAIN)}  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_size_is_foreseen_within_a_tenth_in_any_files(tmp_path: Path) -> None:
    chance = random.Random(5)
    words = [f"w{chance.randrange(4096):x}" for _ in range(3000)]
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", JOBS)
        for _ in range(JOBS):
            said = " ".join(chance.choices(words, k=400))
            await at.answer_next("d", chat(f"{said}</think>{said[:300]}"))
        for name, (file_format, packing) in FILES.items():
            for shard_size in (None, 2, 10, 50):
                folder = tmp_path / f"{name}-{shard_size}"
                folder.mkdir()
                request = ExportRequest("d", folder / name, format=file_format, packing=packing, shard_size=shard_size)
                foreseen = await foresee(at.store, await take_census(at.store, "d"), request)
                await export_dataset(at.store, request)
                written = sum(file.stat().st_size for file in folder.iterdir() if file.suffix != ".json")
                assert foreseen.bytes is not None
                assert abs(foreseen.bytes / written - 1) < 0.1, (name, shard_size)


async def test_nothing_is_foreseen_where_no_answer_makes_a_row(tmp_path: Path) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 3)
        request = ExportRequest("d", tmp_path / "d.parquet", format=Format.PARQUET, shard_size=2)
        assert (await foresee(at.store, await take_census(at.store, "d"), request)).bytes is None
