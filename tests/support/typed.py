"""A command as it is typed: a process of its own in a folder."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "import sys; from worker.cli import call; sys.exit(call(sys.argv[1:]))")


def environment() -> dict[str, str]:
    """Our own code first, and no setting of whoever runs the tests."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("THINKLEDGER_")}
    return {**ours, "PYTHONPATH": str(ROOT)}


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end."""
    command, nothing = [*COMMAND, *arguments], subprocess.DEVNULL
    return subprocess.run(command, cwd=folder, env=environment(), stdin=nothing, capture_output=True, check=False)
