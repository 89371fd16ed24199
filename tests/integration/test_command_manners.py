"""What every command does for whoever types it: help for each argument, a quiet end for `| head`, narrow terminals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from app.leasing.holds import HoldKind, HoldRequest, hold
from tests.support.filled import LOST, filled, thought
from tests.support.forks import COMMAND, environment
from tests.support.typed import typed
from worker.simulator.personas import PERSONAS

NAME = "A_data_set.with-a-long_name.of.60.characters.or.more.v1.2026"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("manners")

    async def fill() -> None:
        async with filled(made / "thinkledger.db") as at:
            await at.dataset("d", 12)
            await at.answer_next("d", thought(1), thought(2), *LOST.values())
            await at.dataset(NAME, 3)
            await at.store.write(hold, HoldRequest(await at.dataset("held", 2), HoldKind.PERSON, "paused"))

    anyio.run(fill)
    (made / "rows.jsonl").write_bytes(b'{"prompt": "a"}\n{"prompt": 5}\n')
    (made / "bodies.jsonl").write_text(json.dumps({"request": {}, "body": {"choices": []}, "http_status": 200}) + "\n")
    return made


PRINTING = (
    ("--help",),
    ("--version",),
    ("status",),
    ("status", "--json"),
    ("samples", "d"),
    ("samples", "d", "--jsonl"),
    ("sample", "d", "s1"),
    ("sample", "d", "s1", "--part", "raw", "--raw"),
    ("datasets",),
    ("worker", "list"),
    ("worker", "list", "--json"),
    ("datasets", "show", "d"),
    ("config",),
    ("export", "--dataset", "d", "-o", "-"),
    ("import", "d", "rows.jsonl", "--dry-run"),
    ("import", "d", "rows.jsonl", "--dry-run", "--jsonl"),
    ("parse", "bodies.jsonl"),
    ("retry", "d", "--verdict", "missing", "--dry-run"),
    ("reparse", "d"),
)


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_a_reader_that_has_enough_ends_every_command_quietly(folder: Path, arguments: tuple[str, ...]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, stdout=write_end, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env=environment(), check=False,
    )  # fmt: skip
    os.close(write_end)
    said = done.stderr.decode()
    assert done.returncode == 141, said
    assert "rror" not in said
    assert "Exception" not in said


HELPS = """
import json, click
from worker import cli_settings
from worker.cli import build
print(json.dumps([
    [words, command.get_help(click.Context(command, info_name=words)), [
        [one.name, one.help] for one in command.params if isinstance(one, click.Argument)]]
    for words, command in cli_settings.every(build())]))
"""


def test_every_argument_of_every_command_is_explained(folder: Path) -> None:
    command = [sys.executable, "-c", HELPS]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)
    helps = json.loads(done.stdout)
    assert len(helps) > 15
    for words, shown, arguments in helps:
        for name, text in arguments:
            assert text, f"{words} {name}"
            assert " ".join(text.split()[:3]) in " ".join(shown.split()), words
        assert shown.count("rguments:") <= 1, words


@pytest.mark.parametrize("width", [40, 80, 200])
def test_status_and_samples_fit_the_terminal(folder: Path, width: int) -> None:
    for arguments in (("status",), ("samples", "d")):
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=folder, env={**environment(), "COLUMNS": str(width)}, capture_output=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = done.stdout.decode().splitlines()
        assert [line for line in lines if len(line) > max(width, len(NAME))] == []
    assert "s1" in lines[0]


@pytest.mark.parametrize(("words", "meant"), [(("simulator",), "simulate"), (("worker", "strat"), "start")])
def test_a_mistyped_command_is_answered_with_what_was_meant_once(
    folder: Path, words: tuple[str, ...], meant: str
) -> None:
    done = typed(folder, *words)
    said = done.stderr.decode()
    assert done.returncode == 2
    assert said.count(f"Did you mean '{meant}'?") == 1


def test_status_names_the_workers_in_text(folder: Path) -> None:
    said = typed(folder, "status").stdout.decode()
    assert "gpu  id 1  " in said
    assert "pid 4242 on host" in said


def test_simulate_speaks_for_itself(folder: Path) -> None:
    done = typed(folder, "simulate", "--persona", "none_such")
    assert done.returncode == 2
    assert b"unknown persona 'none_such'; known: abort" in done.stderr
    assert b"`thinkledger simulate --help`" in done.stderr
    assert b"python -m" not in done.stderr
    shown = typed(folder, "simulate", "--help").stdout.decode().split("Personas: ")[1].partition("Examples:")[0]
    assert "".join(shown.split()).rstrip(".").split(",") == sorted(PERSONAS)


def test_retry_says_that_a_held_dataset_is_not_asked_yet(folder: Path) -> None:
    typed(folder, "datasets", "pause", "d")
    done = typed(folder, "retry", "d", "--verdict", "missing", "--yes")
    assert done.returncode == 0, done.stderr
    assert b"held (person: paused)" in done.stderr
    assert b"`thinkledger datasets resume d`" in done.stderr
    typed(folder, "datasets", "resume", "d")


def test_a_reject_says_what_was_there_and_what_was_expected(folder: Path) -> None:
    done = typed(folder, "--db", "other.db", "import", "x", "rows.jsonl", "--json")
    reject = json.loads((folder / json.loads(done.stdout)["rejects"]).read_bytes())
    assert reject["detail"] == "`prompt` is a number; expected a text or a list of messages"


def test_a_compressed_export_under_a_plain_name_is_said(folder: Path) -> None:
    done = typed(folder, "export", "--dataset", "d", "--gzip", "-o", "x.jsonl", "--allow-incomplete")
    assert done.returncode == 0
    assert b"x.jsonl holds gzip data although its name does not say so" in done.stderr


@pytest.mark.parametrize("command", [("worker", "start", "--endpoint", "http://127.0.0.1:1"), ("serve", "--port", "0")])
def test_a_log_file_that_cannot_be_written_to_stops_the_start(folder: Path, command: tuple[str, ...]) -> None:
    done = typed(folder, "--log-file", "no/such/folder.log", *command)
    assert done.returncode == 2
    assert b"--log-file no/such/folder.log cannot be written to (No such file" in b" ".join(done.stderr.split())
