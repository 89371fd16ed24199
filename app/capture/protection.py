"""Step 2: which occurrences of a tag are only mentioned. Nothing is looked at before a tag occurs."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from app.capture.fences import Fences
from app.capture.scanning import outside_code, standing_alone, unquoted
from app.capture.spans import Line
from app.capture.tools import argument_spans

_LOOK_CLOSER = ("far", "marked")  # the groups of candidates of which the pattern could not say everything


@dataclass(frozen=True, slots=True)
class Control:
    """The tag that really ends the thought."""

    at: int
    protected: bool  # no unprotected one was there, and this one's rest stands alone


class Protection:
    """One text and the places in it where a tag is plain text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = Fences(text)
        self._line: Line | None = None
        self._arguments: list[tuple[int, int]] | None = None

    def first_unprotected(self, tag: str) -> int:
        """Where the first unprotected occurrence stands, or -1."""
        if tag not in self._text:
            return -1
        return next((at for at in self._outside_code(tag) if not self._call_end(at)), -1)

    def control(self, tag: str) -> Control | None:
        """The first unprotected close tag; failing that, the first in code after which the rest stands alone."""
        first = self.first_unprotected(tag)
        if first >= 0:
            return Control(first, protected=False)
        second_best = self._first_with_rest(tag) if tag in self._text else -1
        return Control(second_best, protected=True) if second_best >= 0 else None

    def _outside_code(self, tag: str) -> Iterator[int]:
        if not self._fences.marked and "`" not in self._text:
            return unquoted(self._text, tag)
        return outside_code(self._text, tag, self._in_code)

    def _call_end(self, at: int) -> int:
        """The end of the call arguments around that position; 0 where there are none."""
        if self._arguments is None:
            self._arguments = argument_spans(self._text)
        if not self._arguments:
            return 0
        end = self._arguments[bisect_right(self._arguments, (at, len(self._text))) - 1]
        return end[1] if end[0] <= at < end[1] else 0

    def _in_code(self, at: int) -> bool:
        return self._fences.covers(at) or self._line_of(at).in_code(at)

    def _first_with_rest(self, tag: str) -> int:
        """The first protected tag whose rest leaves no fence open, and no back-tick of its first line unpaired.

        A first line that is itself a fence may hold any back-ticks.
        """
        resume = 0
        for found in standing_alone(tag).finditer(self._text):
            at, end = found.span()
            if at < resume:
                continue
            resume = self._call_end(at)
            if resume:
                continue
            if found.lastgroup not in _LOOK_CLOSER:
                if self._fences.line_left_open_after(end):
                    continue
                return at
            if self._fences.left_open_after(end):
                continue
            if self._fences.opens_at(end):
                return at
            resume = self._line_of(end).paired_after(end)
            if resume <= end:
                return at
        return -1

    def _line_of(self, at: int) -> Line:
        if self._line is None or not self._line.holds(at):
            end = self._text.find("\n", at)
            self._line = Line(self._text, self._text.rfind("\n", 0, at) + 1, len(self._text) if end < 0 else end)
        return self._line
