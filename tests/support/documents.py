"""The documents, read: their blocks, the commands in them, what these print, and the situations they are for."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.forks import ROOT, environment

RUNBOOK = "docs/how-to/runbook.md"
SERVER = "http://127.0.0.1:30000"
FOLDER = "/srv/drafter"
PROGRAM = "#!%s\nimport sys\nfrom worker.cli import %s\nsys.exit(%s())\n"
MARK = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```$|^<!-- (test|not run): (.+?) -->", re.DOTALL | re.MULTILINE)


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


@dataclass(frozen=True)
class Block:
    """A fenced block; `reason` says why no test runs it, where its page says that."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def documents() -> list[str]:
    """Every page that a user reads."""
    return ["README.md", *(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").rglob("*.md")))]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page."""
    return [item for item in _items(page, read(page)) if isinstance(item, Block)]


def steps(page: str, section: str | None = None) -> list[Step]:
    """What a page tells to type, in its order, without what it says is not run; of one section where one is named."""
    text = read(page) if section is None else sections(page)[section]
    return list(_steps(_items(page, text)))


def sections(page: str) -> dict[str, str]:
    """The text of every section by its title."""
    _, *found = re.split(r"^## (.+)$", read(page), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def _items(page: str, text: str) -> Iterator[Block | Happens]:
    reason: str | None = None
    for found in MARK.finditer(text):
        language, block, kind, said = found.groups()
        if kind == "test":
            yield Happens(said)
        elif kind is None:
            yield Block(page, text[: found.start()].count("\n") + 1, language, textwrap.dedent(block), reason)
        reason = said if kind == "not run" else None


def _steps(items: Iterator[Block | Happens]) -> Iterator[Step]:
    for item in items:
        if isinstance(item, Happens):
            yield item
        elif item.reason is not None:
            continue
        elif item.language == "text":
            yield Log(tuple(item.text.splitlines()))
        elif item.language == "console":
            yield from _shown(item.text)
        elif item.language == "sh":
            yield from (_command(line, ()) for line in _whole_lines(item.text))


def _shown(block: str) -> Iterator[Command]:
    for call in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
        typed, *prints = call.splitlines()
        yield _command(typed, tuple(prints))


def _command(line: str, prints: tuple[str, ...]) -> Command:
    typed, _, code = line.partition("  # exit ")
    return Command(typed, int(code or 0), prints)


def _whole_lines(block: str) -> list[str]:
    return [line for line in block.replace("\\\n", "").splitlines() if line.strip()]


def programs(folder: Path) -> None:
    """`thinkledger` and `worker` as programs."""
    folder.mkdir()
    for name, function in (("thinkledger", "main"), ("worker", "main_worker")):
        (folder / name).write_text(PROGRAM % (sys.executable, function, function), encoding="utf-8")
        (folder / name).chmod(0o755)


def run(command: Command, folder: Path, told: Mapping[str, str]) -> tuple[int, list[str]]:
    """Type it; the exit code and all that it prints. `told` are words of the page and what stands for them here."""
    surroundings = environment() | {"PATH": f"{folder / 'bin'}:{environment()['PATH']}"}
    typed = command.typed
    for written, here in told.items():
        typed = typed.replace(written, here)
    done = subprocess.run(
        ["bash", "-c", typed], cwd=folder, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    said = done.stdout.decode().replace(str(folder.resolve()), FOLDER)
    for written, here in told.items():
        said = said.replace(here, written)
    return done.returncode, said.splitlines()


def alike(expected: tuple[str, ...], said: list[str]) -> bool:
    """Whether a command printed what the page shows; a line `...` stands for any lines, numbers for numbers."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else _pattern(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in said)) is not None


def shows(expected: tuple[str, ...], said: list[str]) -> bool:
    """Whether all that the page shows was printed, in its order; a page shows what matters, and lets the rest out."""
    between = r"(?:.*\n)*?"
    wanted = between.join(_pattern(line, VARYING) + "\n" for line in expected if line != "...")
    return re.fullmatch(between + wanted + r"(?:.*\n)*", "".join(f"{line.rstrip()}\n" for line in said)) is not None


NUMBER = {r"\.\.\.": ".*", r"\d[\d,.:]*": r"\d[\d,.:]*"}
VARYING = {
    r"\b[0-9a-f]{8,}\b": "[0-9a-f]+",
    **NUMBER,
    r"\b(?:[KMG]i)?B\b": "(?:[KMG]i)?B",
}  # sha256, sizes of other files


def _pattern(line: str, varying: Mapping[str, str] = NUMBER) -> str:
    parts = re.split("(" + "|".join(varying) + ")", line.rstrip())
    return "".join(_part(part, varying) for part in parts)


def _part(part: str, varying: Mapping[str, str]) -> str:
    return next((here for written, here in varying.items() if re.fullmatch(written, part)), re.escape(part))
