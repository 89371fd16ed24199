"""What an import says, what it refuses, where its rejects go, and how it is gone on with."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.intake import rejects
from app.intake.dry_run import DryRun, to_json
from app.intake.request import ImportRequest
from app.intake.rows import Reading
from app.model.errors import NotFound, Refused, UsageError
from app.store.tables import DATASET, EVENT, JOB, SOURCE
from tests.integration.import_kit import ROOT, lines, names, prompts, rows_of, take


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_the_source_tells_what_was_read(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"prompt": "a"}, b"[]", {"prompt": "b"}))
    whole = take(tmp_path, file)
    limited = take(tmp_path, file, name="limited", limit=1)
    assert (limited.rows, limited.added, limited.sha256) == (1, 1, None)
    found = rows_of(tmp_path, SOURCE.c.name, SOURCE.c.sha256, SOURCE.c.rows, SOURCE.c.rejected)
    assert found == [("rows.jsonl", whole.sha256, 3, 1), ("rows.jsonl", None, 1, 0)]
    assert all(finished for (finished,) in rows_of(tmp_path, SOURCE.c.finished_ms))
    assert [kind for (kind,) in rows_of(tmp_path, EVENT.c.kind)] == ["dataset_created", "imported"] * 2


def test_settings_said_again_must_be_the_stored_ones(tmp_path: Path, file: Path) -> None:
    file.write_bytes(prompts(["a"]))
    take(tmp_path, file, said={"temperature": 0.5})
    take(tmp_path, file, said={"temperature": 0.5})
    with pytest.raises(BaseExceptionGroup) as raised:
        take(tmp_path, file, said={"temperature": 0.6, "model": "m"}, max_attempts=9)
    [error] = raised.value.exceptions
    assert isinstance(error, UsageError)
    assert "temperature is 0.5, this import says 0.6" in str(error)
    assert 'model is not set, this import says "m"' in str(error)
    assert "max_attempts is 5, this import says 9" in str(error)


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("d", "absent.jsonl", NotFound),
        ("d", ".", UsageError),
        ("d", "rows.xlsx", UsageError),
        ("d", "store/t.db", Refused),
        ("../d", "rows.jsonl", UsageError),
        ("d\n", "rows.jsonl", UsageError),
    ],
)
def test_what_cannot_be_meant_changes_nothing(
    tmp_path: Path, file: Path, name: str, path: str, kind: type[Exception]
) -> None:
    file.write_bytes(prompts(["a"]))
    (tmp_path / "rows.xlsx").touch()
    with pytest.raises(BaseExceptionGroup) as raised:
        take(tmp_path, tmp_path / path, name=name)
    assert raised.group_contains(kind)
    assert rows_of(tmp_path, DATASET.c.id) == []


def test_ids_in_every_script_and_with_control_characters_are_kept(tmp_path: Path, file: Path) -> None:
    odd = ["é☕", "a\x00b", "a\x00c", "two\nlines", " x ", "100%", "'"]
    file.write_bytes(lines(*({"id": name, "prompt": "p\x00" + name} for name in odd)))
    assert take(tmp_path, file).added == len(odd)
    assert names(tmp_path) == odd
    assert take(tmp_path, file).added == 0


def test_a_dry_run_writes_nothing_and_names_rows_as_an_import_does(tmp_path: Path, file: Path) -> None:
    file.write_bytes(
        lines(
            {"prompt": "a"},
            {"prompt": "a"},
            {"id": "x", "prompt": "p"},
            {"id": "x", "prompt": "q"},
            b"?",
            {"id": "x", "prompt": "p"},
        )
    )
    run = DryRun(ImportRequest("d", str(file)))
    shown = [json.loads(to_json(fate)) for fate in run.fates()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]
    assert [row["dropped"] for row in shown] == [None, None, None, "conflicting_id", "not_json", None]
    assert list(shown[0]) == ["sample_id", "messages", "tools", "dropped", "notes"]
    assert shown[3] == {"sample_id": None, "messages": None, "tools": None, "dropped": "conflicting_id", "notes": []}
    report = take(tmp_path, file)
    assert [row["sample_id"] for row in shown if row["sample_id"]] == names(tmp_path)
    dry = run.report()
    assert (dry.rows, dry.added, dry.rejected, dry.repeated, dry.sha256) == (6, 4, 2, 2, report.sha256)


def test_rows_that_are_not_allowed_to_guess_their_id_are_refused(tmp_path: Path, file: Path) -> None:
    file.write_bytes(lines({"key": "k", "prompt": "a"}, {"id": "i", "prompt": "b"}))
    report = take(tmp_path, file, reading=Reading(id_field="key"))
    assert (names(tmp_path), report.reasons) == (["k"], {"no_id": 1})


def test_rejects_of_a_link_or_a_folder_that_cannot_be_written_go_elsewhere(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"?\n")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    beside = tmp_path / "rows.jsonl.rejects.jsonl"
    beside.symlink_to(victim)
    assert take(tmp_path, file).rejects == tmp_path / "rows.jsonl.rejects.2.jsonl"
    assert (victim.read_text(), beside.is_symlink()) == ("mine", True)
    opened = os.open

    def refuse(path: Path, flags: int, mode: int) -> int:  # a folder without write access, which root does not know
        if Path(path).parent == tmp_path:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode)

    monkeypatch.setattr(rejects.os, "open", refuse)
    assert take(tmp_path, file).rejects == tmp_path / "store" / "rows.jsonl.rejects.jsonl"


def test_rejects_of_standard_input_go_to_the_folder_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "store" / "t.db"), "-"]
    subprocess.run(command, cwd=ROOT, input=b"?\n", check=True, capture_output=True)
    assert (tmp_path / "store" / "d.stdin.rejects.jsonl").exists()


CHILD = """
import sys, anyio
from app.intake import chunks
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.store.store import open_store
chunks.ROWS = 500

async def main():
    async with open_store(sys.argv[1], create=True) as store:
        await import_file(store, ImportRequest("d", sys.argv[2]), lambda progress: print(progress.added, flush=True))

anyio.run(main)
"""


def test_an_import_that_was_killed_is_completed_by_running_it_again(tmp_path: Path, file: Path) -> None:
    texts = [str(number % 1900) for number in range(3_000)]
    data = prompts(texts)
    file.write_bytes(data)
    (tmp_path / "store").mkdir()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "store" / "t.db"), "-"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"".join(data.splitlines(keepends=True)[:2_200]))  # not the end: it cannot be finished yet
        child.stdin.flush()
        for _ in range(4):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
    committed = len(names(tmp_path))
    assert committed == 2_000
    report = take(tmp_path, file)
    assert (report.added, report.present) == (1_000, 2_000)
    assert len(names(tmp_path)) == len(set(names(tmp_path))) == 3_000
    assert [ordinal for (ordinal,) in rows_of(tmp_path, JOB.c.ordinal)] == list(range(1, 3_001))
    assert rows_of(tmp_path, SOURCE.c.sha256, SOURCE.c.finished_ms)[0] == (None, None)
    assert take(tmp_path, file).added == 0


def test_an_import_that_waits_for_its_input_can_be_interrupted(tmp_path: Path) -> None:
    child_code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + CHILD.replace("500", "1")
    command = [sys.executable, "-c", child_code, str(tmp_path / "t.db"), "-"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(prompts(["a", "b"]))
        child.stdin.flush()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)  # its input is still open
        assert child.stderr is not None
        assert b"KeyboardInterrupt" in child.stderr.read()
