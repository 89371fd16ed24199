"""However a server is told to end, and whatever is open then, it leaves no task behind and says nothing of any."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.web.kit import fill_free
from tests.support.dashboard import PATIENCE_SECONDS
from tests.support.forks import environment

# `-X dev` tells of everything that is not closed, and asyncio's own debugging of every task that nobody waited for.
SERVE = [
    sys.executable, "-X", "dev", "-c", "import sys; from worker.cli import call; sys.exit(call(sys.argv[1:]))",
    "--db", "t.db", "serve", "--port", "0", "--no-auth",
]  # fmt: skip
LEFT = re.compile("destroyed|never awaited|never retrieved|ResourceWarning|Traceback")


@pytest.mark.parametrize("signals", [1, 2])
def test_requests_that_never_end_are_cut_and_waited_for(tmp_path: Path, signals: int) -> None:
    fill_free(tmp_path)
    debugging = environment() | {"PYTHONASYNCIODEBUG": "1"}
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(SERVE, cwd=tmp_path, env=debugging, stdout=subprocess.PIPE, stderr=said, text=True)
        assert process.stdout is not None
        with process.stdout:
            port = int(process.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
            halves = [_half_a_form(port) for _ in range(5)]
            for _ in range(signals):
                process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 143
        for half in halves:
            half.close()
        said.seek(0)
        assert LEFT.search(said.read()) is None


def _half_a_form(port: int) -> socket.socket:
    """A change whose form does not come: its task waits for it. The answer of another shows that it has begun."""
    opened = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
    head = (
        "POST /datasets/free/pause HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n"
    )
    opened.sendall(head.encode())
    assert opened.recv(100).startswith(b"HTTP/1.1 100")
    return opened
