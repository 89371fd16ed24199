"""Fenced code blocks of a text, by CommonMark 0.31 section 4.5: only closed ones are blocks."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, count
from operator import add
from typing import NamedTuple

FENCE = r"(?P<fence>(?P<mark>[`~])(?:(?<=`)`{2,}+|(?<=~)~{2,}+))"
INFO = r"(?:(?<=~)[^\n]*|(?<=`)[^`\n]*)(?=\n|\Z)"  # a back-tick in it, and the line is inline code
_BARE = r"[ \t]*\r?(?=\n|\Z)"
SAME_FENCE = rf" {{0,3}}(?P=fence)(?:(?<=`)`*+|(?<=~)~*+){_BARE}"
TO_CLOSER = rf"(?:\n(?!{SAME_FENCE})[^\n]*+)*+\n{SAME_FENCE}"
OPENS = r"(?:`{3,}[^`\n]*(?=\n|\Z)|~{3})"  # the same as a fence and its info, without a group

# A literal in front lets the search skip ordinary text quickly; `_padded` gives the first line its line feed, too.
_BLOCK = re.compile(rf"\n {{0,3}}{FENCE}{INFO}(?P<rest>{TO_CLOSER})?")
_REST_LINE = re.compile(rf" {{0,3}}{FENCE}(?P<info>{INFO})")
_LINES = re.compile(rf"\n( {{0,3}}(?:`{{3,}}+(?=[^`\n]*+(?:\n|\Z))|~{{3,}}+)(?:(?={_BARE})|[^\n]))")
BARE_LINE = re.compile(rf"\n {{0,3}}(?:`{{3,}}|~{{3,}}){_BARE}")


class Fences:
    """The fences of one text, looked at when first asked for and no further than asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.marked = "```" in text or "~~~" in text
        self._padded = "\n" + text if self.marked else ""
        self._scan = _BLOCK.finditer(self._padded)
        self._scanned_to = 0
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._rest: _Table | None = None  # of the text from the first position that was asked about
        self._rest_from = 0

    def covers(self, position: int) -> bool:
        """Whether that position stands inside a closed block, its fence lines included."""
        if not self.marked:
            return False
        while self._scanned_to <= position:
            self._scan_on()
        block = bisect_right(self._starts, position) - 1
        return block >= 0 and position < self._ends[block]

    def left_open_after(self, position: int) -> bool:
        """Whether the text from that position on, read alone, leaves a fence open. Positions only rise."""
        return self.marked and self._after(position).left_open_after(
            position - self._rest_from, _REST_LINE.match(self._text, position)
        )

    def line_left_open_after(self, position: int) -> bool:
        """The same where no fence starts at that position."""
        return self.marked and self._after(position).left_open_after(position - self._rest_from, None)

    def _after(self, position: int) -> "_Table":
        if self._rest is None:
            self._rest_from, self._rest = position, _Table("\n" + self._text[position:])
        return self._rest

    def alike_until(self, position: int) -> tuple[str, int]:
        """A pattern of the fence at that position, and up to where others like it end at the same line.

        Where no line ends it, none ends a longer one.
        """
        first = _REST_LINE.match(self._text, position)
        if first is None:
            return "", 0
        fence, mark = first["fence"], first["mark"]
        closer = self._after(position).closer_after(position - self._rest_from, first)
        if closer is None:
            return fence, len(self._text)
        return f"{fence}(?!{mark})", self._rest_from + closer - 1

    def opens_at(self, position: int) -> bool:
        """Whether the text from that position on, read alone, starts with a fence line."""
        return self.marked and _REST_LINE.match(self._text, position) is not None

    def _scan_on(self) -> None:
        """Add the next block. A fence that is never closed sends us to the table, lest each looks for its end anew."""
        block = next(self._scan, None) if self._starts or BARE_LINE.search(self._padded) else None
        if block is None:
            self._scanned_to = len(self._text) + 1
        elif block["rest"] is None:
            blocks = _Table(self._padded).blocks()
            self._starts = [start for start, _ in blocks]
            self._ends = [end for _, end in blocks]
            self._scanned_to = len(self._text) + 1
        else:
            self._starts.append(block.start())
            self._ends.append(block.end() - 1)
            self._scanned_to = block.end()


class _Kind(NamedTuple):
    """Fence lines that are alike. A bare one also closes a block of its character."""

    mark: str
    length: int
    bare: bool

    def closes(self, mark: str, length: int) -> bool:
        return self.bare and self.mark == mark and self.length >= length


def _kind(line: str) -> _Kind:
    """Of the start of a fence line, which goes one character beyond the fence where it is not bare."""
    fence = line.lstrip(" ")
    bare = fence[-1] == fence[0]
    return _Kind(fence[0], len(fence) if bare else len(fence) - 1, bare)


class _Table:
    """For each fence line the one that would close it, and what follows from that."""

    def __init__(self, padded: str) -> None:
        self._padded = padded
        pieces = _LINES.split(padded)  # text, line, text, line ... text
        ends = list(accumulate(map(len, pieces)))
        self._starts = list(map(add, ends[:-1:2], count()))  # each line feed stands in no piece
        self._passed = 0
        kinds = {line: _kind(line) for line in set(pieces[1::2])}
        self._kinds = list(set(kinds.values()))
        numbers = {line: self._kinds.index(kind) for line, kind in kinds.items()}
        self._lines = [numbers[line] for line in pieces[1::2]]
        self._closer = [-1] * len(self._lines)
        self._left_open = [False] * (len(self._lines) + 1)  # whether reading from that line on leaves a fence open
        if len(self._kinds) == 1 and self._kinds[0].bare:  # each closes the one before: every second leaves none open
            self._left_open = [odd % 2 == 1 for odd in range(len(self._lines), -1, -1)]
            self._closer = [*range(1, len(self._lines)), -1]
        else:
            self._pair()
        self._nearest: dict[tuple[str, int], int] = {}

    def _pair(self) -> None:
        # What a line closes is no more than twice its own length of kinds, so that this is linear in the text.
        closed = [tuple(self._closed_by(kind)) for kind in self._kinds]
        closer, left_open = self._closer, self._left_open
        nearest = [-1] * len(closed)
        for at in range(len(closer) - 1, -1, -1):
            kind = self._lines[at]
            found = closer[at] = nearest[kind]
            left_open[at] = found < 0 or left_open[found + 1]
            for other in closed[kind]:
                nearest[other] = at

    def _closed_by(self, kind: _Kind) -> Iterator[int]:
        return (at for at, other in enumerate(self._kinds) if kind.closes(other.mark, other.length))

    def blocks(self) -> list[tuple[int, int]]:
        """Start and end of every closed block."""
        found, at = list[tuple[int, int]](), 0
        while at < len(self._lines):
            closer = self._closer[at]
            if closer >= 0:
                end = self._padded.find("\n", self._starts[closer] + 1)
                found.append((self._starts[at], (len(self._padded) if end < 0 else end) - 1))
            at = max(at, closer) + 1
        return found

    def left_open_after(self, position: int, first: re.Match[str] | None) -> bool:
        """The same for the text from `position` on, whose first line may be the fence line `first`."""
        later = self._later(position)
        if first is None:
            return self._left_open[later]
        closer = self._closer_from(later, first["mark"], len(first["fence"]))
        return closer >= len(self._lines) or self._left_open[closer + 1]

    def closer_after(self, position: int, first: re.Match[str]) -> int | None:
        """Where the line begins that closes the fence line `first` of that position."""
        closer = self._closer_from(self._later(position), first["mark"], len(first["fence"]))
        return self._starts[closer] if closer < len(self._lines) else None

    def _later(self, position: int) -> int:
        """The first fence line behind that position; positions only rise."""
        starts, later = self._starts, self._passed
        while later < len(starts) and starts[later] <= position:
            later += 1
        self._passed = later
        return later

    def _closer_from(self, line: int, mark: str, length: int) -> int:
        """The first line from there on that closes such a fence. The last answer is kept: positions only rise."""
        at = max(self._nearest.get((mark, length), line), line)
        closing = [kind.closes(mark, length) for kind in self._kinds]
        while at < len(self._lines) and not closing[self._lines[at]]:
            at += 1
        self._nearest[mark, length] = at
        return at
