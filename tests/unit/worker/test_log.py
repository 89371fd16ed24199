"""The log never ends the run, wherever it is written to."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from app.model.errors import UsageError
from tests.support.forks import environment
from worker.log import Log, Records
from worker.log_file import KEPT, LogFile, open_log


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_on_a_full_disk_costs_lines_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "w", buffering=1, encoding="utf-8")  # noqa: SIM115, PTH123 - it is never closed in order
    monkeypatch.setattr(sys, "stderr", full)
    for _ in range(3):
        Log().warning("store_trouble", reason="the disk is full")
    monkeypatch.undo()
    with pytest.raises(OSError, match="No space left"):
        full.close()


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_an_event_is_one_line_whatever_its_facts_hold(capsys: pytest.CaptureFixture[str]) -> None:
    odd = "a\nb\r\u2028\x1b[31m \ud800"
    Log().warning("odd", why=odd)
    Log(json_lines=True).warning("odd", why=odd, part=1, none=None)
    text, line = written(capsys)
    assert text.endswith(r" warning odd why=a\nb\x0d\u2028\x1b[31m \ud800")
    told = json.loads(line)
    assert (told["level"], told["event"], told["why"], told["part"], told["none"]) == ("warning", "odd", odd, 1, None)
    assert "\x1b" not in line


@pytest.mark.parametrize("secret", ["sk-12345678", 'pa"ss\\word', "schl\u00fcssel", "two\nlines", "\x1bescaped"])
def test_a_secret_is_in_no_line(capsys: pytest.CaptureFixture[str], secret: str) -> None:
    for json_lines in (False, True):
        Log(json_lines, secrets=(secret,)).warning("denied", why=f"the key {secret} is wrong", part=1)
    text, line = written(capsys)
    assert text.endswith(" warning denied why=the key [secret] is wrong part=1")
    told = json.loads(line)
    assert (told["why"], told["part"]) == ("the key [secret] is wrong", 1)


def test_quiet_leaves_out_what_is_as_it_should_be(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(quiet=True)
    log.info("endpoint_up")
    log.warning("endpoint_down")
    assert [line.split()[1:] for line in written(capsys)] == [["warning", "endpoint_down"]]


def test_what_libraries_log_is_a_line_too_with_its_traceback_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("thinkledger.test")
    logger.propagate = False
    handler = Records(Log(json_lines=True, secrets=("hush-hush",)))
    logger.addHandler(handler)
    try:
        logger.info("nothing")
        logger.warning("slow: %s", "hush-hush", extra={"event": "not_evaluated"})
        try:
            int("first\nsecond")
        except ValueError:
            logger.exception("error %s at %s", "7f", "/x")
    finally:
        logger.removeHandler(handler)
    slow, error = map(json.loads, written(capsys))
    assert (slow["event"], slow["says"]) == ("not_evaluated", "slow: [secret]")
    assert (error["event"], error["says"]) == ("thinkledger.test", "error 7f at /x")
    assert "ValueError: invalid literal for int() with base 10: 'first\\nsecond'" in error["error"]


def test_a_log_file_is_its_owners_and_is_set_aside_when_it_has_grown(tmp_path: Path) -> None:
    file = tmp_path / "worker.log"
    log = Log(write=LogFile(file, most=200))
    for number in range(60):
        log.info("event", number=number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["worker.log", *(f"worker.log.{number}" for number in range(1, KEPT + 1))]
    assert all(path.stat().st_size <= 200 for path in tmp_path.iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    oldest_first = [*(tmp_path / f"worker.log.{number}" for number in range(KEPT, 0, -1)), file]
    numbers = [int(line.rpartition("=")[2]) for path in oldest_first for line in path.read_text().splitlines()]
    assert numbers == list(range(numbers[0], 60))  # no line is lost in between


def test_a_log_file_that_was_moved_away_by_others_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "worker.log"
    log = Log(write=LogFile(file))
    log.info("one")
    file.rename(tmp_path / "elsewhere")
    log.info("two \ud800")
    assert [path.read_text().split()[2] for path in (tmp_path / "elsewhere", file)] == ["one", "two"]


def test_a_line_that_its_file_does_not_take_is_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = Log(write=open_log(folder / "worker.log"))
    folder.rename(tmp_path / "elsewhere")
    log.warning("nowhere")
    assert [line.split()[1:] for line in written(capsys)] == [["warning", "nowhere"]]


@pytest.mark.parametrize("name", ["no/such/folder.log", "", "a-file/worker.log"])
def test_a_log_file_that_cannot_be_written_to_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "a-file").touch()
    with pytest.raises(UsageError, match="cannot be written to") as refused:
        open_log(tmp_path / name)
    assert f"--log-file {tmp_path / name} " in str(refused.value)


WRITERS = """
import sys
from pathlib import Path
from threading import Thread
from worker import log_file
log_file.KEPT = 200
write = log_file.LogFile(Path(sys.argv[1]), most=200)
def lines(thread):
    for number in range(150):
        write(f"{sys.argv[2]} {thread} {number}\\n")
threads = [Thread(target=lines, args=(thread,)) for thread in range(2)]
sys.stdin.read()
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_processes_and_threads_that_share_a_log_file_lose_no_line(tmp_path: Path) -> None:
    command = (sys.executable, "-c", WRITERS, str(tmp_path / "shared.log"))
    started = [subprocess.Popen([*command, name], env=environment(), stdin=subprocess.PIPE) for name in ("a", "b")]
    for one in started:
        assert one.stdin is not None
        one.stdin.close()
    assert [one.wait() for one in started] == [0, 0]
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    expected = [f"{name} {thread} {number}" for name in "ab" for thread in range(2) for number in range(150)]
    assert sorted(lines) == sorted(expected)
    assert all(path.stat().st_size <= 200 for path in tmp_path.iterdir())
