"""Lines that fit a terminal. A number, a name or a command is never cut: where it does not fit, a new line begins.

Into a pipe or a file lines go unbroken, a record a line, as `grep` wants them; `COLUMNS` says otherwise.
"""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from unicodedata import combining, east_asian_width

LEAST = 20  # columns; a narrower terminal breaks lines itself
_WORDS = re.compile(r"`[^`]*`\S*|\d[\d,.]* (?:%|/h|tok/s|KiB|MiB|GiB|B)\S*|\S+")


def columns() -> int | None:
    """How wide lines may be; None where nothing limits them."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return max(LEAST, shutil.get_terminal_size().columns)
    return None


def facts(parts: Iterable[str], width: int | None, first: str = "", indent: str = "") -> Iterator[str]:
    """Parts with two spaces between them; the first line begins with `first`, each further one with `indent`."""
    yield from _filled(_pieces(parts, width, indent), width, first, indent)


def table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = frozenset()) -> Iterator[str]:
    """Rows below their names, each column as wide as it must be; numbers stand at its right."""
    widths = [max(_shown(row[place]) for row in (names, *rows)) for place in range(len(names))]
    for row in (names, *rows):
        cells = zip(names, row, widths, strict=True)
        yield "  ".join(_padded(cell, width, right=name in numbers) for name, cell, width in cells).rstrip()


def _padded(cell: str, width: int, *, right: bool) -> str:
    room = " " * (width - _shown(cell))
    return room + cell if right else cell + room


def _shown(text: str) -> int:
    """How many columns a terminal takes for it: wide letters two, letters that join the one before none."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def sentence(text: str, width: int | None, first: str = "", indent: str = "") -> Iterator[str]:
    """A text, broken between its words."""
    words = text.split() if width is None else _WORDS.findall(text)
    yield from _filled(((word, " ") for word in words), width, first, indent)


def _pieces(parts: Iterable[str], width: int | None, indent: str) -> Iterator[tuple[str, str]]:
    """Each part as one piece, or as its words where it is longer than a whole line."""
    for part in parts:
        if width is None or len(indent) + len(part) <= width:
            yield part, "  "
            continue
        for number, word in enumerate(_WORDS.findall(part)):
            yield word, " " if number else "  "


def _filled(pieces: Iterable[tuple[str, str]], width: int | None, first: str, indent: str) -> Iterator[str]:
    line, empty = first, True
    for piece, gap in pieces:
        if empty:
            line, empty = line + piece, False
        elif width is None or len(line) + len(gap) + len(piece) <= width:
            line += gap + piece
        else:
            yield line.rstrip()
            line = indent + piece
    yield line.rstrip()
