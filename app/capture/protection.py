"""Step 2: which occurrences of a tag are only mentioned. Nothing is looked at before a tag occurs."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from app.capture.fences import Fences
from app.capture.spans import Line
from app.capture.tools import argument_spans

_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"), ("『", "』"))


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
        return next((at for at in self._unquoted(tag) if not self._in_call(at) and not self._in_code(at)), -1)

    def control(self, tag: str) -> Control | None:
        """The first unprotected close tag; failing that, the first in code after which the rest stands alone."""
        second_best: Control | None = None
        for at in self._unquoted(tag):
            if self._in_call(at):
                continue
            if not self._in_code(at):
                return Control(at, protected=False)
            if second_best is None and self._rest_stands_alone(at + len(tag)):
                second_best = Control(at, protected=True)
        return second_best

    def _unquoted(self, tag: str) -> Iterator[int]:
        if tag in self._text:
            for match in _unquoted_pattern(tag).finditer(self._text):
                yield match.start()

    def _in_call(self, at: int) -> bool:
        if self._arguments is None:
            self._arguments = argument_spans(self._text)
        before = bisect_right(self._arguments, (at, len(self._text)))
        return before > 0 and at < self._arguments[before - 1][1]

    def _in_code(self, at: int) -> bool:
        return self._fences.covers(at) or self._line_of(at).in_code(at)

    def _rest_stands_alone(self, end: int) -> bool:
        """No fence left open, and no unpaired back-tick on the first line unless that line is itself a fence."""
        if self._fences.left_open_after(end):
            return False
        return self._fences.opens_at(end) or self._line_of(end).paired_from(end)

    def _line_of(self, at: int) -> Line:
        if self._line is None or not self._line.holds(at):
            end = self._text.find("\n", at)
            self._line = Line(self._text, self._text.rfind("\n", 0, at) + 1, len(self._text) if end < 0 else end)
        return self._line


@lru_cache(maxsize=32)
def _unquoted_pattern(tag: str) -> re.Pattern[str]:
    """The tag, not touched on both sides by matching quote marks."""
    literal = re.escape(tag)
    return re.compile(literal + "".join(f"(?!(?<={left}{literal}){right})" for left, right in _QUOTES))
