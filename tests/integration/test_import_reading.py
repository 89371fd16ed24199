"""However a file is packed, and however long its lines are, it is read whole and in little memory."""

import gzip
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from app.intake.lines import open_lines
from app.store.tables import SAMPLE
from tests.integration.import_kit import ROOT, lines, names, prompts, rows_of, take


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


CLEAN = lines({"id": "1", "prompt": "a"}, {"id": "2", "prompt": "line\u2028separator"}, {"id": "3", "prompt": "c"})

RAW_SEPARATOR = CLEAN.replace(b"\\u2028", "\u2028".encode())


def _frames(data: bytes) -> bytes:
    half = len(data) // 2
    compress = zstandard.ZstdCompressor().compress
    return compress(data[:half]) + compress(data[half:])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(RAW_SEPARATOR, id="U+2028 inside a line"),
        pytest.param(b"\xef\xbb\xbf" + CLEAN.replace(b"\n", b"\r\n\r\n  \r\n"), id="BOM, CRLF and blank lines"),
        pytest.param(CLEAN.removesuffix(b"\n"), id="no last newline"),
        pytest.param(gzip.compress(CLEAN[:40]) + gzip.compress(CLEAN[40:]), id="gzip of two members"),
        pytest.param(_frames(CLEAN), id="zstd of two frames"),
    ],
)
def test_the_container_does_not_matter(tmp_path: Path, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    report = take(tmp_path, file)
    assert (report.rejected, names(tmp_path)) == (0, ["1", "2", "3"])
    contents = [content for (content,) in rows_of(tmp_path, SAMPLE.c.content_sha256)]
    file.write_bytes(CLEAN)
    assert take(tmp_path, file, name="plain").added == 3
    assert [content for (content,) in rows_of(tmp_path, SAMPLE.c.content_sha256)] == contents * 2


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_compressed_data_that_ends_early_is_said(
    tmp_path: Path, file: Path, compress: Callable[[bytes], bytes]
) -> None:
    whole = compress(prompts(str(number) * 40 for number in range(20_000)))
    file.write_bytes(whole[: len(whole) // 2])
    report = take(tmp_path, file)
    assert report.reasons == {"damaged_file": 1}
    assert report.sha256 is None
    file.write_bytes(whole)
    assert take(tmp_path, file).added + report.added == 20_000


def test_a_line_of_any_length_takes_little_memory(file: Path) -> None:
    with gzip.open(file, "wb", compresslevel=1) as out:
        for _ in range(150):
            out.write(b"x" * 2**20)
        out.write(b'\n{"prompt": "after"}\n')
    tracemalloc.start()
    try:
        with open_lines(str(file)) as opened:
            found = [(line.number, line.fault, len(line.data)) for line in opened]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [(1, "too_large", 1000), (2, None, 19)]
    assert peak_bytes < 24 * 2**20


MEMORY = """
import resource, sys, anyio
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.store.store import open_store

peaks = []
async def main():
    async with open_store(sys.argv[1], create=True) as store:
        def note(progress):
            peaks.append((progress.rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
        await import_file(store, ImportRequest("d", sys.argv[2]), note)

anyio.run(main)
early = next(peak for rows, peak in peaks if rows >= 30_000)
print((peaks[-1][1] - early) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_memory_does_not_grow_with_the_file(tmp_path: Path, file: Path) -> None:
    with file.open("wb") as out:
        for start in range(0, 100_000, 1_000):
            out.write(prompts(f"{number} " + "word " * 20 for number in range(start, start + 1_000)))
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "t.db"), str(file)]
    grown_mib = int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    assert grown_mib < 20
