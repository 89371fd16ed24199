"""A command as it is typed: a process of its own in a folder."""

import subprocess
from pathlib import Path

from tests.support import forks


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end."""
    return forks.run(arguments, folder)
