"""What others offer, each in a virtual environment of its own that is made once and kept."""

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.large_store import CACHE


def python_with(name: str, *packages: str) -> Path | None:
    """The interpreter of an environment with these packages; None where they cannot be installed, which is said."""
    folder = CACHE / f"peer-{name}"
    ready = folder / "ready"
    if not ready.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        venv.create(folder, with_pip=True, clear=True)
        command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()[-1:]
            print(f"{name} cannot be installed, so it is not compared: {' '.join(said)}", file=sys.stderr)
            return None
        ready.touch()
    return folder / "bin" / "python"
