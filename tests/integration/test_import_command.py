"""`thinkledger import` as it is typed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import forks


def thinkledger(folder: Path, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return forks.run(arguments, folder, stdin=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_bytes(b'{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}\n')
    (tmp_path / "good.jsonl").write_bytes(b'{"id": "a", "prompt": "x"}\n')
    return tmp_path


def test_the_result_is_on_stdout_and_rejects_make_the_exit_code_6(folder: Path) -> None:
    done = thinkledger(folder, "import", "d", "rows.jsonl", "--json")
    assert done.returncode == 6, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == 1
    assert (report["rows"], report["added"], report["rejected"]) == (2, 1, 1)
    assert report["rejects"] == "rows.jsonl.rejects.jsonl"
    assert done.stderr == b""


def test_a_whole_import_ends_with_0_and_again_adds_nothing(folder: Path) -> None:
    flags = ("--temperature", "0.5", "--thinking", "on", "--extra", '{"top_k": 3}', "--max-attempts", "2")
    assert thinkledger(folder, "import", "d", "good.jsonl", *flags).returncode == 0
    again = thinkledger(folder, "import", "d", "-", *flags, stdin=(folder / "good.jsonl").read_bytes())
    assert again.returncode == 0
    assert again.stdout.startswith(b"d: 1 rows, 0 added, 1 there already, 0 dropped, 0 rejected\n")


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (3, ("d", "absent.jsonl")),
        (2, ("d", ".")),
        (2, ("bad/name", "good.jsonl")),
        (2, ("d", "good.jsonl", "--extra", "{")),
        (2, ("d", "good.jsonl", "--extra", '{"messages": []}')),
        (2, ("d", "good.jsonl", "--profile", "none such")),
        (2, ("d", "good.jsonl", "--format", "none such")),
        (2, ("d", "good.jsonl", "--jsonl")),
    ],
)
def test_what_cannot_be_meant_has_its_exit_code_and_makes_no_store(
    folder: Path, code: int, arguments: tuple[str, ...]
) -> None:
    done = thinkledger(folder, "import", *arguments)
    assert (done.returncode, done.stdout) == (code, b""), done.stderr
    assert b"Traceback" not in done.stderr
    assert not (folder / "thinkledger.db").exists()


def test_another_choice_of_turns_is_refused_with_both_named_until_the_dataset_is_set_to_it(folder: Path) -> None:
    assert thinkledger(folder, "import", "d", "good.jsonl").returncode == 0
    refused = thinkledger(folder, "import", "d", "good.jsonl", "--turns", "all")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b'turns is "last", this import says "all"' in refused.stderr
    assert thinkledger(folder, "datasets", "set", "d", "--turns", "all").returncode == 0
    assert thinkledger(folder, "import", "d", "good.jsonl", "--turns", "all").returncode == 0


def test_a_dry_run_shows_the_rows_and_writes_nothing(folder: Path) -> None:
    done = thinkledger(folder, "import", "d", "rows.jsonl", "--dry-run", "--jsonl")
    assert done.returncode == 6, done.stderr
    assert [json.loads(line)["dropped"] for line in done.stdout.splitlines()] == [None, "conflicting_id"]
    assert sorted(path.name for path in folder.iterdir()) == ["good.jsonl", "rows.jsonl"]


def test_a_dry_run_names_the_first_rejects_and_counts_the_rest(folder: Path) -> None:
    bad = [b'{"id": "a", "prompt": "x"}', b'{"id": "a", "prompt": "y"}', b"{", *[b'{"no": 1}'] * 6]
    (folder / "bad.jsonl").write_bytes(b"\n".join(bad))
    done = thinkledger(folder, "import", "d", "bad.jsonl", "--dry-run")
    assert done.returncode == 6
    named = [line for line in done.stdout.decode().splitlines() if line.startswith("bad.jsonl:")]
    assert named[0] == "bad.jsonl:2: conflicting_id; expected one content under one id"
    assert named[1].startswith("bad.jsonl:3: not_json (")
    assert [line.split(":")[1] for line in named] == ["2", "3", "4", "5", "6"]
    assert "and 3 more; an import writes all of them down" in done.stdout.decode().splitlines()
    listed = json.loads(thinkledger(folder, "import", "d", "bad.jsonl", "--dry-run", "--json").stdout)
    assert [one["line"] for one in listed["first_rejected"]] == [2, 3, 4, 5, 6]
    assert listed["first_rejected"][0]["expected"] == "one content under one id"
