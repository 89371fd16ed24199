"""Fenced code blocks of a text, by CommonMark 0.31 section 4.5: only closed ones are blocks."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_INDENT = 3  # blanks that may stand before a fence
_BARE = r"[ \t]*\r?(?:\n|\Z)"

# A back-tick in what follows the back-ticks, and the line is inline code.
_TICKS = r"`(?<!``)``++(?=[^`\n]*+(?:\n|\Z))"
_FENCE = re.compile(rf"(?:{_TICKS}|~~~++)(?P<bare>(?={_BARE}))?")
_AT_ONCE = re.compile(rf" {{0,{_INDENT}}}(?P<fence>```++(?=[^`\n]*+(?:\n|\Z))|~~~++)")


class _Kind(NamedTuple):
    """Fence lines that are alike. A bare one also closes a block of its character."""

    mark: str
    length: int
    bare: bool

    def closes(self, mark: str, length: int) -> bool:
        return self.bare and self.mark == mark and self.length >= length


class Fences:
    """For each fence line of one text the one that would close it, and what follows from that. Positions only rise."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []  # of the lines
        self._lines: list[int] = []  # the kind of each, a place in `_kinds`
        self._kinds: list[_Kind] = []
        self._read_lines()
        self._closer = [-1] * len(self._lines)
        self._left_open = [False] * (len(self._lines) + 1)  # whether reading from that line on leaves a fence open
        self._pair()
        self._begins, self._ends = self._blocks()
        self._passed = 0
        self._nearest: dict[tuple[str, int], int] = {}

    def _read_lines(self) -> None:
        numbers: dict[tuple[str, str | None], int] = {}
        for found in _FENCE.finditer(self._text):
            at = found.start()
            indent = self._indent(at)
            if indent >= 0:
                self._starts.append(at - indent)
                self._lines.append(numbers.setdefault((found.group(), found["bare"]), len(numbers)))
        self._kinds = [_Kind(fence[0], len(fence), bare is not None) for fence, bare in numbers]

    def _indent(self, at: int) -> int:
        """How many blanks stand between that place and the start of its line; -1 where it is anything else."""
        if at == 0 or self._text[at - 1] == "\n":
            return 0
        start = self._text.rfind("\n", max(at - _INDENT - 1, 0), at) + 1
        if start == 0 and at > _INDENT:
            return -1
        return -1 if self._text[start:at].strip(" ") else at - start

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

    def _blocks(self) -> tuple[list[int], list[int]]:
        """Where each closed block begins, and where it ends."""
        begins, ends, at = list[int](), list[int](), 0
        while at < len(self._lines):
            closer = self._closer[at]
            if closer >= 0:
                end = self._text.find("\n", self._starts[closer])
                begins.append(self._starts[at])
                ends.append(len(self._text) if end < 0 else end)
            at = max(at, closer) + 1
        return begins, ends

    def block_end(self, position: int) -> int:
        """The end of the closed block, its fence lines included, around that position; 0 where there is none."""
        block = bisect_right(self._begins, position) - 1
        return self._ends[block] if block >= 0 and position < self._ends[block] else 0

    def opens_at(self, position: int) -> bool:
        """Whether the text from that position on, read alone, starts with a fence line."""
        return _AT_ONCE.match(self._text, position) is not None

    def left_open_after(self, position: int) -> bool:
        """Whether the text from that position on, read alone, leaves a fence open."""
        later = self._later(position)
        first = _AT_ONCE.match(self._text, position)
        if first is None:
            return self._left_open[later]
        closer = self._closer_from(later, first["fence"][0], len(first["fence"]))
        return closer >= len(self._lines) or self._left_open[closer + 1]

    def next_line(self, position: int) -> int:
        """Where the next fence line behind that position starts; the end of the text where there is none."""
        later = self._later(position)
        return self._starts[later] if later < len(self._starts) else len(self._text)

    def _later(self, position: int) -> int:
        """The first fence line behind the line of that position."""
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
