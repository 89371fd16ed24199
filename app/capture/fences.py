"""Fenced code blocks of a text, by CommonMark 0.31 section 4.5: only closed ones are blocks."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

_FENCE = r"(?P<fence>(?P<mark>[`~])(?P=mark){2,})(?!(?P=mark))"
_INFO = r"(?:(?<=~)[^\n]*|(?<=`)[^`\n]*)(?=\n|\Z)"  # a back-tick in it, and the line is inline code
_SAME_FENCE = r" {0,3}(?P=fence)(?P=mark)*[ \t]*\r?(?=\n|\Z)"
_TO_CLOSER = rf"(?:\n(?!{_SAME_FENCE})[^\n]*)*\n{_SAME_FENCE}"

# A literal in front lets the search skip ordinary text quickly; `_padded` gives the first line its line feed, too.
_BLOCK = re.compile(rf"\n {{0,3}}{_FENCE}{_INFO}(?P<rest>{_TO_CLOSER})?")
_FENCE_LINE = re.compile(rf"\n {{0,3}}{_FENCE}(?P<info>{_INFO})")
_REST_LINE = re.compile(rf" {{0,3}}{_FENCE}(?P<info>{_INFO})")
_BARE_LINE = re.compile(r"\n {0,3}(?:`{3,}|~{3,})[ \t]*\r?(?:\n|\Z)")


class Fences:
    """The fences of one text, looked at when first asked for and no further than asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._marked = "```" in text or "~~~" in text
        self._padded = "\n" + text if self._marked else ""
        self._scan = _BLOCK.finditer(self._padded)
        self._scanned_to = 0
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._table: _Table | None = None

    def covers(self, position: int) -> bool:
        """Whether that position stands inside a closed block, its fence lines included."""
        if not self._marked:
            return False
        while self._scanned_to <= position:
            self._scan_on()
        block = bisect_right(self._starts, position) - 1
        return block >= 0 and position < self._ends[block]

    def left_open_after(self, position: int) -> bool:
        """Whether the text from that position on, read alone, leaves a fence open."""
        return self._marked and self._lines().left_open_after(position, _REST_LINE.match(self._text, position))

    def opens_at(self, position: int) -> bool:
        """Whether the text from that position on, read alone, starts with a fence line."""
        return self._marked and _REST_LINE.match(self._text, position) is not None

    def _scan_on(self) -> None:
        """Add the next block. A fence that is never closed sends us to the table, lest each looks for its end anew."""
        block = next(self._scan, None) if self._starts or _BARE_LINE.search(self._padded) else None
        if block is None:
            self._scanned_to = len(self._text) + 1
        elif block["rest"] is None:
            blocks = self._lines().blocks()
            self._starts = [start for start, _ in blocks]
            self._ends = [end for _, end in blocks]
            self._scanned_to = len(self._text) + 1
        else:
            self._starts.append(block.start())
            self._ends.append(block.end() - 1)
            self._scanned_to = block.end()

    def _lines(self) -> "_Table":
        if self._table is None:
            self._table = _Table([_fence_line(match) for match in _FENCE_LINE.finditer(self._padded)])
        return self._table


class _FenceLine(NamedTuple):
    """A line that opens a block where none is open. A bare one also closes a block of its character."""

    start: int
    end: int
    mark: str
    length: int
    bare: bool


def _fence_line(match: re.Match[str]) -> _FenceLine:
    fence, mark, info = match.group("fence", "mark", "info")
    return _FenceLine(match.start(), match.end() - 1, mark, len(fence), not info.strip(" \t\r"))


@dataclass(slots=True)
class _Closers:
    """The bare lines of one character seen so far from the right, nearest last, each shorter than the one before."""

    lines: list[int] = field(default_factory=list)
    negated_lengths: list[int] = field(default_factory=list)  # rising, as bisect wants them

    def add(self, line: int, length: int) -> None:
        while self.lines and -self.negated_lengths[-1] <= length:
            self.lines.pop()
            self.negated_lengths.pop()
        self.lines.append(line)
        self.negated_lengths.append(-length)

    def nearest(self, length: int) -> int:
        place = bisect_right(self.negated_lengths, -length) - 1
        return self.lines[place] if place >= 0 else -1


class _Table:
    """For each fence line the one that would close it, and what follows from that."""

    def __init__(self, lines: list[_FenceLine]) -> None:
        self._lines = lines
        self._starts = [line.start for line in lines]
        self._closer = [-1] * len(lines)
        self._left_open = [False] * (len(lines) + 1)  # whether reading from that line on leaves a fence open
        self._nearest: dict[tuple[str, int], int] = {}
        closers = {"`": _Closers(), "~": _Closers()}
        for at in range(len(lines) - 1, -1, -1):
            _, _, mark, length, bare = lines[at]
            closer = self._closer[at] = closers[mark].nearest(length)
            self._left_open[at] = closer < 0 or self._left_open[closer + 1]
            if bare:
                closers[mark].add(at, length)

    def blocks(self) -> list[tuple[int, int]]:
        """Start and end of every closed block."""
        found, at = list[tuple[int, int]](), 0
        while at < len(self._lines):
            closer = self._closer[at]
            if closer >= 0:
                found.append((self._lines[at].start, self._lines[closer].end))
            at = max(at, closer) + 1
        return found

    def left_open_after(self, position: int, first: re.Match[str] | None) -> bool:
        """The same for the text from `position` on, whose first line may be the fence line `first`."""
        later = bisect_right(self._starts, position)
        if first is None:
            return self._left_open[later]
        closer = self._closer_from(later, first["mark"], len(first["fence"]))
        return closer >= len(self._lines) or self._left_open[closer + 1]

    def _closer_from(self, line: int, mark: str, length: int) -> int:
        """The first line from there on that closes such a fence. The last answer is kept: positions only rise."""
        at = max(self._nearest.get((mark, length), line), line)
        while at < len(self._lines) and not self._closes(self._lines[at], mark, length):
            at += 1
        self._nearest[mark, length] = at
        return at

    @staticmethod
    def _closes(line: _FenceLine, mark: str, length: int) -> bool:
        return line.bare and line.mark == mark and line.length >= length
