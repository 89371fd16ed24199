"""Imports that are cut off, disks that are full, files that are damaged: the same command again makes it whole."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.integration.store import raw
from tests.support.forks import environment
from tests.support.product import Product

KILLS = int(os.environ.get("IMPORT_KILLS", "8"))
CHILD = """
import sys
from app.intake import chunks
from app.store import store
chunks.ROWS = 20
patient = store.writing_engine
store.writing_engine = lambda place, _busy_timeout_ms: patient(place, 200)
from worker.cli import call
sys.exit(call(sys.argv[1:]))
"""


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


def lines(*rows: Any) -> bytes:
    return b"".join(row + b"\n" if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


def all_kinds(count: int) -> bytes:
    """Prompts, equal ones, ones with ids, conflicts, results of an old run, and lines that are nothing."""
    rows: list[Any] = []
    for number in range(count):
        asked = [{"role": "user", "content": f"question {number}"}]
        rows += [
            {"prompt": f"prompt {number % (count // 3)}"},
            {"id": f"i{number // 2}", "prompt": f"{number % 3}"},
            {"sample_id": f"r{number}", "messages": asked, "content": f"t{number}</think>a", "finish_reason": "stop"},
        ]
        if number % 10 == 0:
            rows += [b"{torn", {"sample_id": f"r{number}", "messages": asked, "content": "x", "finish_reason": "stop"}]
    return lines(*rows)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", CHILD, *arguments]


def run(folder: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        command(*arguments), cwd=folder, env=environment(), input=stdin, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def report_of(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["rows"] == report["added"] + report["present"] + report["dropped"] + report["rejected"]
    return report


def contents(product: Product) -> dict[str, list[tuple[Any, ...]]]:
    """All that an import makes, without times and numbers."""
    return {
        "samples": product.rows("SELECT base_id, occurrence, sample_id, content_sha256 FROM sample ORDER BY 1, 2"),
        "jobs": product.rows("SELECT sample_id, replica, state, verdict FROM job ORDER BY 1, 2"),
        "order": product.rows("SELECT ordinal FROM job ORDER BY 1"),
        "answers": product.rows(
            "SELECT sample_id, raw_sha256, accepted_seq IS NOT NULL FROM response JOIN job ON job.id = job_id "
            "ORDER BY 1, 2"
        ),
        "datasets": product.rows("SELECT name FROM dataset"),
    }


def rejects(product: Product, name: str = "rows.jsonl.rejects.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (product.folder / name).read_bytes().splitlines()]


def test_an_import_killed_at_any_moment_is_made_whole_by_the_same_command(product: Product, tmp_path: Path) -> None:
    data = all_kinds(300)
    (tmp_path / "rows.jsonl").write_bytes(data)
    other = Product(tmp_path / "uncut")
    other.folder.mkdir()
    (other.folder / "rows.jsonl").write_bytes(data)
    uncut = report_of(run(other.folder, "import", "d", "rows.jsonl", "--json"))
    chance = random.Random(3)
    killed = 0
    for _ in range(KILLS):
        aim = chance.randrange(len(contents(other)["samples"]) + 40)
        child = subprocess.Popen(
            command("import", "d", "rows.jsonl", "--json"), cwd=tmp_path, env=environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while child.poll() is None and _count(product) < aim:
            time.sleep(0.001)  # a look at the store again
        time.sleep(chance.random() * 0.03)
        killed += child.poll() is None
        child.kill()
        child.wait()
    assert killed > 0
    before = _count(product)
    last = report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))
    assert contents(product) == contents(other)
    assert (last["rows"], last["rejected"]) == (uncut["rows"], uncut["rejected"])
    assert before + last["added"] == _count(product)
    assert rejects(product) == rejects(other)
    assert [path.name for path in tmp_path.glob("rows.jsonl.rejects*")] == ["rows.jsonl.rejects.jsonl"]
    again = report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))
    assert (again["added"], again["present"] + again["rejected"]) == (0, uncut["rows"])
    assert product.value("SELECT count(*) FROM source WHERE finished_ms IS NULL") == 0
    assert product.value("SELECT count(*) FROM source WHERE sha256 IS NOT NULL") == 1
    product.check_invariants()


def _count(product: Product) -> int:
    if not product.db.exists() or not product.peek("SELECT 1 FROM sqlite_master WHERE name = 'sample'"):
        return 0
    found = product.peek("SELECT count(*) FROM sample")
    return int(found[0][0]) if found else 0


def test_a_locked_store_ends_the_import_with_5_and_it_goes_on_later(product: Product, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(all_kinds(30))
    (tmp_path / "one.jsonl").write_bytes(lines({"prompt": "one"}))
    assert run(tmp_path, "import", "d", "one.jsonl").returncode == 0
    with raw.connection(product.db) as holder:
        holder.execute("BEGIN IMMEDIATE")
        done = run(tmp_path, "import", "d", "rows.jsonl")
    assert (done.returncode, b"The store is busy" in done.stderr) == (5, True), done.stderr
    assert report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))["added"] > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the room that is left; the file to remove for it to be free again."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return ballast


def test_a_full_disk_of_the_store_is_exit_9_and_the_import_goes_on_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    rows = [{"prompt": f"{number} {'x' * 900}"} for number in range(600)]
    (tmp_path / "first.jsonl").write_bytes(lines(*rows[:100]))
    (tmp_path / "rows.jsonl").write_bytes(lines(*rows))
    assert run(tmp_path, "--db", "small/t.db", "import", "d", "first.jsonl").returncode == 0
    ballast = fill(small_disk)
    arguments = ("--db", "small/t.db", "import", "d", "rows.jsonl", "--json")
    full = run(tmp_path, *arguments)
    assert (full.returncode, b"is full" in full.stderr) == (9, True), full.stderr
    ballast.unlink()
    report = report_of(run(tmp_path, *arguments))
    assert report["added"] + report["present"] == 600
    assert report["present"] >= 100
    assert report_of(run(tmp_path, *arguments))["added"] == 0


def test_a_full_disk_of_the_rejects_is_a_sentence_and_loses_no_row(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "rows.jsonl").write_bytes(lines({"prompt": "good"}, *(b"{bad %d" % n for n in range(2000))))
    ballast = fill(small_disk)
    done = run(tmp_path, "--db", "t.db", "import", "d", "small/rows.jsonl")
    assert (done.returncode, b"could not be" in done.stderr) == (9, True), done.stderr
    ballast.unlink()
    report = report_of(run(tmp_path, "--db", "t.db", "import", "d", "small/rows.jsonl", "--json"))
    assert (report["rows"], report["rejected"]) == (2001, 2000)
    written = (tmp_path / report["rejects"]).read_bytes().splitlines()
    assert len(written) == 2000


def test_a_file_that_changed_between_two_imports_adds_what_is_new_and_names_what_differs(
    product: Product, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(lines({"id": "a", "prompt": "1"}, {"id": "b", "prompt": "2"}))
    assert report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))["added"] == 2
    file.write_bytes(lines({"id": "a", "prompt": "1"}, {"id": "b", "prompt": "changed"}, {"id": "c", "prompt": "3"}))
    report = report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))
    assert (report["present"], report["added"], report["rejected"]) == (1, 1, 1)
    assert "'b' has other content at line 2 of rows.jsonl" in rejects(product)[0]["detail"]
    assert len({sha256 for (sha256,) in product.rows("SELECT sha256 FROM source")}) == 2


def test_a_cut_standard_input_is_made_whole_by_the_whole_one(product: Product, tmp_path: Path) -> None:
    data = lines(*({"prompt": str(number)} for number in range(100)))
    cut = run(tmp_path, "import", "d", "-", "--json", stdin=data[:1000])
    assert cut.returncode == 6
    assert report_of(cut)["reasons"] == {"not_json": 1}
    whole = run(tmp_path, "import", "d", "-", "--json", stdin=data)
    assert whole.returncode == 0
    assert report_of(whole)["added"] + report_of(cut)["added"] == 100
    assert len(rejects(product, "d.stdin.rejects.jsonl")) == 1


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("rows.jsonl.gz", gzip.compress),
        ("rows.jsonl.zst", zstandard.ZstdCompressor(write_checksum=True).compress),
    ],
)
@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_file_damaged_in_the_middle_keeps_the_rows_before_it_and_says_where(
    product: Product, tmp_path: Path, name: str, compress: Any, damage: str
) -> None:
    chance = random.Random(1)
    texts = [f"{number} {chance.randbytes(30).hex()}" for number in range(20_000)]
    whole = compress(lines(*({"prompt": text} for text in texts)))
    middle = len(whole) // 2
    end = b"" if damage == "cut" else b"\xff" * 4000 + whole[middle + 4000 :]
    (tmp_path / name).write_bytes(whole[:middle] + end)
    done = product.run("import", "d", name, "--json", code=6)
    report = report_of(done)
    assert report["reasons"]["damaged_file"] == 1
    assert report["added"] > 7_000
    assert report["sha256"] is None
    where = int(report["damage"].split("beyond byte ")[1].split(" ")[0].replace(",", ""))
    assert name in report["damage"]
    assert middle - 16_384 <= where <= (middle + 20_000 if damage == "cut" else len(whole))  # else at a check sum
    assert rejects(product, f"{name}.rejects.jsonl")[-1]["detail"] == report["damage"]
    (tmp_path / name).write_bytes(whole)
    again = report_of(product.run("import", "d", name, "--json"))
    assert again["added"] + again["present"] == 20_000


def test_earlier_rejects_are_never_lost_and_the_same_ones_not_doubled(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"

    def bring(*rows: Any) -> Path:
        file.write_bytes(lines(*rows))
        return Path(report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))["rejects"])

    first = bring(b"one", {"prompt": "a"}, b"two")
    assert first.name == "rows.jsonl.rejects.jsonl"
    assert bring(b"one", {"prompt": "a"}, b"two") == first  # the same again
    second = bring(b"other")
    assert second.name == "rows.jsonl.rejects.2.jsonl"
    assert bring(b"one", {"prompt": "a"}, b"two", b"three") == first  # more of the same takes its place
    assert [one["text"] for one in rejects(product)] == ["one", "two", "three"]
    assert [one["text"] for one in rejects(product, second.name)] == ["other"]
    file.write_bytes(lines({"prompt": "a"}))
    assert report_of(run(tmp_path, "import", "d", "rows.jsonl", "--json"))["rejects"] is None
    assert {path.name for path in tmp_path.glob("*.rejects*")} == {first.name, second.name}


def test_rejects_alone_make_no_dataset(product: Product, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(lines(b"{", b"[]"))
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    for name, code in (("rows.jsonl", 6), ("empty.jsonl", 0)):
        report = report_of(product.run("import", "d", name, "--json", code=code))
        assert (report["created"], report["added"]) == (False, 0)
    assert product.rows("SELECT name FROM dataset") == []
    assert product.rows("SELECT id FROM source") == []
    (tmp_path / "rows.jsonl").write_bytes(lines(b"{", {"prompt": "a"}))
    assert report_of(product.run("import", "d", "rows.jsonl", "--json", code=6))["created"] is True
    assert product.rows("SELECT name FROM dataset") == [("d",)]


def test_a_file_that_cannot_be_read_is_a_sentence(product: Product, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").symlink_to("/proc/self/mem")  # opens, and fails at the first read
    done = run(tmp_path, "import", "d", "rows.jsonl")
    assert (done.returncode, b"could not be read" in done.stderr) == (9, True), done.stderr
