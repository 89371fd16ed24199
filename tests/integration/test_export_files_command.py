"""`export` on the command line: which files it writes, and what it refuses before it writes one."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pyarrow.parquet as pq
import pytest

from tests.support.filled import filled, thought
from tests.support.forks import environment
from tests.support.typed import typed

WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
from worker.cli import call
sys.exit(call(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("d", 5)
            await at.answer_next("d", *(thought(number) for number in range(5)))

    anyio.run(make)
    return tmp_path


def export(folder: Path, *arguments: str) -> tuple[int, str, bytes]:
    done = typed(folder, "--db", "t.db", "export", *arguments)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stderr.decode(), done.stdout


def test_the_format_is_said_or_is_that_of_the_name(folder: Path) -> None:
    assert export(folder, "--dataset", "d", "--format", "parquet")[0] == 0
    assert export(folder, "--dataset", "d", "-o", "x.parquet")[0] == 0
    assert (folder / "d.parquet").read_bytes() == (folder / "x.parquet").read_bytes()
    assert pq.read_table(folder / "d.parquet").num_rows == 5
    assert export(folder, "--check", "x.parquet")[0] == 0
    code, said, _ = export(folder, "--dataset", "d", "-o", "x.parquet", "--format", "jsonl", "--overwrite")
    assert (code, "asks for parquet, and --format for jsonl" in said) == (2, True)
    code, said, _ = export(folder, "--dataset", "d", "--format", "parquet", "--gzip")
    assert (code, "compressed inside" in said) == (2, True)
    assert export(folder, "--dataset", "d", "-o", "y.parquet.zst")[0] == 2


def test_a_table_goes_to_standard_output_too(folder: Path) -> None:
    assert export(folder, "--dataset", "d", "--format", "parquet")[0] == 0
    code, _, data = export(folder, "--dataset", "d", "--format", "parquet", "-o", "-")
    assert (code, data) == (0, (folder / "d.parquet").read_bytes())


def test_shards_are_written_checked_and_told_of(folder: Path) -> None:
    code, said, data = export(folder, "--dataset", "d", "--shard-size", "2", "--gzip", "--json")
    assert code == 0, said
    names = [f"d-0000{number}-of-00003.jsonl.gz" for number in range(3)]
    told = json.loads(data)
    assert (told["file"], told["rows"], told["files"]) == ("d.jsonl.gz", 5, names)
    assert sorted(path.name for path in folder.glob("d-*")) == names
    code, said, _ = export(folder, "--check", names[0])
    assert (code, "5 whole rows in 3 files" in said) == (0, True)
    assert export(folder, "--dataset", "d", "--shard-size", "2", "--gzip")[0] == 4
    assert export(folder, "--dataset", "d", "--shard-size", "2", "-o", "-")[0] == 2
    assert export(folder, "--dataset", "d", "--shard-size", "0")[0] == 2


def test_without_pyarrow_the_extra_is_named(folder: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_PYARROW, "--db", "t.db", "export", "--dataset", "d", "--format", "parquet"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False)
    assert done.returncode == 2
    assert b"pip install 'thinkledger[parquet]'" in done.stderr
    assert not list(folder.glob("d.parquet*"))
