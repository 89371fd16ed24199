"""G. An export against reading the same rows in raw sqlite3 and writing them with msgspec; and its memory.

Both sides write the same bytes, and take what the server said of its usage out of the decompressed bodies. Ours also
takes a census, hashes the file, and writes a manifest.
"""

import filecmp
import os
from pathlib import Path

import msgspec
import zstandard

from app.export.exporting import export_dataset
from app.export.request import ExportRequest
from app.store.store import open_store
from benchmarks import cycle
from benchmarks.answered_store import answered_store
from benchmarks.figure import Figure
from benchmarks.library import sqlite3
from benchmarks.measuring import Meter, Spent, cpu_ratio, in_child, in_turn, median_cpu_s
from benchmarks.scale import Scale

ROUNDS = 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a row on both sides, and the memory of a tenth against that of the whole."""
    small, large = answered_store(scale.answers // 10), answered_store(scale.answers)
    ours, raw = in_turn(
        ROUNDS,
        lambda: in_child(ours_in, large, folder / "ours.jsonl"),
        lambda: in_child(raw_in, large, folder / "raw.jsonl"),
    )
    assert filecmp.cmp(folder / "ours.jsonl", folder / "raw.jsonl", shallow=False)
    tenth = in_child(ours_in, small, folder / "tenth.jsonl")
    sides = [1e6 * median_cpu_s(side) / scale.answers for side in (ours, raw)]
    peak = max(one.peak_bytes for one in ours)
    return [
        Figure(
            "G", f"export of {scale.answers:,} rows of 16 KB, CPU against reading + msgspec", cpu_ratio(ours, raw), 1.5,
            note="{:.0f} against {:.0f} us a row".format(*sides),
        ),
        Figure("G", "peak memory", peak / 2**20, 150, "MB"),
        Figure("G", "peak memory, against a tenth of the rows", peak / tenth.peak_bytes, 1.1),
    ]  # fmt: skip


def ours_in(db: str, file: str) -> Spent:
    """Our export."""
    spent: Spent = cycle.run(_ours, db, file)  # type: ignore[assignment]
    return spent


async def _ours(db: str, file: str) -> Spent:
    async with open_store(db) as store:
        with Meter() as meter:
            report = await export_dataset(store, ExportRequest("data", Path(file), overwrite=True))
    assert report.complete
    return meter.spent()


class _Body(msgspec.Struct):
    """What a line has of a body that no column has."""

    usage: msgspec.Raw


def raw_in(db: str, file: str) -> Spent:
    """The reference: the same lines, byte for byte."""
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    unzip, encode = zstandard.ZstdDecompressor().decompress, msgspec.json.Encoder().encode
    decode = msgspec.json.Decoder(_Body).decode
    with Meter() as meter, Path(file).open("wb") as out:
        for sample_id, messages, codec, raw, reasoning, content, finish_reason in connection.execute(
            "SELECT job.sample_id, sample.messages, body.codec, body.raw, reading.reasoning, reading.content,"
            " reading.finish_reason FROM job JOIN sample ON sample.id = job.sample_ref"
            " JOIN response ON response.job_id = job.id JOIN body ON body.response_id = response.id"
            " JOIN reading ON reading.response_id = response.id"
            " WHERE job.dataset_id = 1 ORDER BY job.ordinal"
        ):
            body = decode(unzip(raw) if codec == "zstd" else raw)
            line = {
                "sample_id": sample_id, "messages": msgspec.Raw(messages.encode()), "reasoning": reasoning,
                "content": content, "finish_reason": finish_reason, "usage": body.usage,
            }  # fmt: skip
            out.write(encode(line) + b"\n")
        out.flush()
        os.fsync(out.fileno())
    connection.close()
    return meter.spent()
