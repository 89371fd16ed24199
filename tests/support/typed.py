"""A command as it is typed: a process of its own in a folder."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support import forks
from tests.support.kinds import db, kind


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end; `--db NAME` is the store of that name in the folder, on a server too."""
    return forks.run(in_words(folder, arguments), folder)


def in_words(folder: Path, arguments: Sequence[str]) -> list[str]:
    """A command whose `--db NAME` names the store that a test on a server means by it."""
    words = list(arguments)
    if kind() != "sqlite" and "--db" in words:
        place = words.index("--db") + 1
        words[place] = db(folder / words[place])
    return words
