"""The runbook, read: its sections, the commands in them, what they print, and the situations they are for."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.typed import ROOT, environment

PAGE = ROOT / "docs/how-to/runbook.md"
SERVER = "http://127.0.0.1:30000"
FOLDER = "/srv/drafter"
PROGRAM = "#!%s\nimport sys\nfrom worker.cli import %s\nsys.exit(%s())\n"


@dataclass(frozen=True)
class Command:
    """One line to type, the exit code it has, and what it prints."""

    typed: str
    code: int
    prints: tuple[str, ...]


@dataclass(frozen=True)
class Log:
    """Lines that the log of the running worker has."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Happens:
    """Something that the situation needs, from a comment of the page."""

    what: str


Step = Command | Log | Happens


def sections() -> dict[str, list[Step]]:
    """The steps of every section by its title."""
    _, *found = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title: list(_steps(text)) for title, text in zip(found[::2], found[1::2], strict=True)}


def _steps(text: str) -> Iterator[Step]:
    for kind, block, what in re.findall(r"^```(\w+)\n(.*?)^```|^<!-- test: (.+) -->", text, re.DOTALL | re.MULTILINE):
        if what:
            yield Happens(what)
        elif kind == "text":
            yield Log(tuple(block.splitlines()))
        else:
            yield from _commands(block)


def _commands(block: str) -> Iterator[Command]:
    for call in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        typed, *prints = call.splitlines()
        typed, _, code = typed.partition("  # exit ")
        yield Command(typed, int(code or 0), tuple(prints))


def programs(folder: Path) -> None:
    """`thinkledger` and `worker` as programs."""
    folder.mkdir()
    for name, function in (("thinkledger", "main"), ("worker", "main_worker")):
        (folder / name).write_text(PROGRAM % (sys.executable, function, function), encoding="utf-8")
        (folder / name).chmod(0o755)


def run(command: Command, folder: Path, url: str) -> tuple[int, list[str]]:
    """Type it; the exit code and all that it prints, with the page's own address and folder."""
    surroundings = environment() | {"PATH": f"{folder / 'bin'}:{environment()['PATH']}"}
    typed = command.typed.replace(SERVER, url)
    done = subprocess.run(
        ["bash", "-c", typed], cwd=folder, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    said = done.stdout.decode().replace(str(folder.resolve()), FOLDER).replace(url, SERVER)
    return done.returncode, said.splitlines()


def alike(expected: tuple[str, ...], said: list[str]) -> bool:
    """Whether a command printed what the page shows; a line `...` stands for any lines, numbers for numbers."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else _pattern(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in said)) is not None


def _pattern(line: str) -> str:
    parts = re.split(r"(\.\.\.|\d[\d,.:]*)", line.rstrip())
    return "".join(
        ".*" if part == "..." else r"\d[\d,.:]*" if part[:1].isdigit() else re.escape(part) for part in parts
    )
