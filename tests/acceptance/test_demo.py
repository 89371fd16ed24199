"""The demonstration as a newcomer meets it: at a terminal, and where there is none."""

import http.client
import os
import pty
import re
import signal
import subprocess
import threading
from pathlib import Path

from tests.support.dashboard import Dashboard
from tests.support.forks import COMMAND, environment
from tests.support.product import wait_for
from tests.support.typed import typed


class AtTerminal:
    """A command with a terminal for its input and its talk; what it says is kept."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        ours, theirs = pty.openpty()
        self.said = b""
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        self._ours = ours
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._ours, 65536):
                self.said += chunk
        except OSError:  # Linux says so when the other end is closed and all is read
            os.close(self._ours)

    def finish(self) -> int:
        code = self.process.wait(60)
        self._reader.join()
        return code


def test_at_a_terminal_the_dashboard_is_up_while_it_runs_and_until_ctrl_c(tmp_path: Path) -> None:
    demo = AtTerminal(tmp_path, "demo", "--no-progress")
    try:
        wait_for(lambda: b"Watch it: http://" in demo.said, "the address of the dashboard")
        port = int(re.search(rb"http://127\.0\.0\.1:(\d+)/login#", demo.said)[1])  # type: ignore[index]
        assert asked(port, "/healthz") == 200
        wait_for(lambda: b"The dashboard stays up" in demo.said, "the end of the run")
        assert b"60 rows" in demo.said
        assert asked(port, "/healthz") == 200
        demo.process.send_signal(signal.SIGINT)
        assert demo.finish() == 0
    finally:
        if demo.process.poll() is None:
            demo.process.kill()
            demo.finish()
    assert b"Traceback" not in demo.said


def test_the_page_is_up_before_the_worker_and_moves_while_it_works(tmp_path: Path) -> None:
    """The code of the login address opens it; what is done only grows, in more than one step, up to all of it."""
    demo = AtTerminal(tmp_path, "demo", "--no-progress")
    try:
        wait_for(lambda: b"Watch it: http://" in demo.said, "the address of the dashboard")
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/login#(\S+)", demo.said)
        assert found is not None
        web = Dashboard(demo.process, int(found[1]), "")  # type: ignore[arg-type]
        session = web.log_in(found[2].decode()).headers["set-cookie"].partition(";")[0]
        first = web.ask("/", cookie=session)
        assert first.status == 200
        assert '<progress max="60"' in first.body
        seen = [0]

        def all_done() -> bool:
            seen.append(web.ask("/api/v1/overview", cookie=session).json["data"]["total"]["progress"]["part"])
            return seen[-1] == 130

        wait_for(all_done, "130 answers")
        assert seen == sorted(seen)
        assert len(set(seen)) > 4
        wait_for(lambda: b"The dashboard stays up" in demo.said, "the end of the run")
        demo.process.send_signal(signal.SIGTERM)
        assert demo.finish() == 0
    finally:
        if demo.process.poll() is None:
            demo.process.kill()
            demo.finish()


def test_what_the_page_needs_does_not_wait_for_the_imports_of_the_worker(tmp_path: Path) -> None:
    """They take longer than all the rest of the start."""
    said = "import sys, worker.cli, worker.commands.demo, worker.demo.stage; print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [COMMAND[0], "-c", said], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "app.web.serving" in loaded
    assert loaded.isdisjoint({"openai", "aiohttp", "worker.supervisor", "worker.endpoint", "worker.demo.run"})


def asked(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_where_there_is_no_terminal_it_ends_by_itself(tmp_path: Path) -> None:
    done = typed(tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    assert b"Watch it: http://127.0.0.1:" in done.stderr
    assert Path(tmp_path / done.stdout.decode().strip()).name == "B1_glaive.jsonl"
