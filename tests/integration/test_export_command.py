"""`export` as it is typed: its exit codes, what it says where, its checks."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import anyio
import pytest
import zstandard

from tests.integration.export_kit import mixed
from tests.support.filled import filled, thought
from tests.support.forks import COMMAND, environment
from tests.support.typed import typed


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
