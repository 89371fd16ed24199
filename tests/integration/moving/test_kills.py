"""A copy that is killed at any step leaves no store behind that could be taken for one; the same command goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.moving.kit import everything, fill
from tests.support.forks import environment
from tests.support.postgres import server
from tests.support.typed import typed

pytestmark = pytest.mark.anyio
CHILD = """
import os, signal, sys
import app.store
from app.store.moving import filling, moving, rows
rows.PAGE, rows.LONG_PAGE, moving.MOST_ROWS = 7, 3, 20
where, name, left = {"put": filling, "finish": filling}[sys.argv[1]], sys.argv[1], int(sys.argv[2])
real = getattr(where, name)
def dies(*args, **kwargs):
    global left
    left -= 1
    done = real(*args, **kwargs)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
setattr(where, name, dies)
from worker.cli import call
sys.exit(call(sys.argv[3:]))
"""
KILLS = [("put", 1), ("put", 9), ("put", 5), ("finish", 1)]  # in a transaction each; the later ones go on


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("to_server", [True, False])
async def test_a_copy_that_was_killed_again_and_again_is_whole_in_the_end(tmp_path: Path, to_server: bool) -> None:
    ends = str(tmp_path / "one.db"), server().empty()
    source, target = ends if to_server else ends[::-1]
    await fill(source)
    before = await everything(source)
    for step, times in KILLS:
        died = _killed(tmp_path, step, times, source, target)
        assert died.returncode == -9, died.stderr
        refused = typed(tmp_path, "--db", target, "status")
        assert (refused.returncode, b"not whole" in refused.stderr) == (4, True), refused.stderr
    done = typed(tmp_path, "copy", source, target, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["resumed"]
    assert {name: facts["rows"] for name, facts in said["tables"].items()} == {n: len(r) for n, r in before.items()}
    after = await everything(target)
    assert {name for name in before if before[name] != after[name]} == {"counter", "event", "job", "worker"}
    assert await everything(source) == before


def _killed(folder: Path, step: str, times: int, *ends: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", CHILD, step, str(times), "copy", *ends]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False)
