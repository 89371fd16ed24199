"""Step 2: which occurrences of a tag are only mentioned. Nothing is looked at before a tag occurs."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from app.capture.fences import Fences
from app.capture.spans import Line
from app.capture.tools import argument_spans

_STANDS_ALONE = -1
_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"), ("『", "』"))
_FENCES_BEHIND = " {0,3}(?:```|~~~)"

# Each mark costs about a microsecond, so that a megabyte of them would take a hundred times as long as a megabyte of
# an answer. Text has a run of back-ticks or a fence in 50 characters where it is full of code.
_MARK = re.compile("`+|~~~+")
_FEWEST_MARKS = 5_000
_CHARACTERS_EACH = 50


@dataclass(frozen=True, slots=True)
class Control:
    """The tag that really ends the thought."""

    at: int
    protected: bool  # no unprotected one was there, and this one's rest stands alone


class Protection:
    """One text and the places in it where a tag is plain text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line: Line | None = None
        self._before_fence_at = -1

    def first_unprotected(self, tag: str) -> int:
        """Where the first unprotected occurrence stands, or -1."""
        at = 0
        while (found := _unquoted(tag).search(self._text, at)) is not None:
            at = self._call_end(found.start()) or self._code_end(found.start())
            if not at:
                return found.start()
        return -1

    def control(self, tag: str) -> Control | None:
        """The first unprotected close tag; failing that, the first in code after which the rest stands alone."""
        first = self.first_unprotected(tag)
        if first >= 0:
            return Control(first, protected=False)
        second_best = self._first_with_rest(tag)
        return Control(second_best, protected=True) if second_best >= 0 else None

    @property
    def complete(self) -> bool:
        """Whether code was looked for in all of the text."""
        return len(self._marked) == len(self._text)

    @cached_property
    def _marked(self) -> str:
        """The text in which code is looked for: all of it, or the lines before the first mark too many."""
        most = max(_FEWEST_MARKS, len(self._text) // _CHARACTERS_EACH)
        if self._text.count("`") + self._text.count("~~~") <= most:
            return self._text
        first_too_many = next(islice(_MARK.finditer(self._text), most, None), None)
        if first_too_many is None:
            return self._text
        return self._text[: self._text.rfind("\n", 0, first_too_many.start()) + 1]

    @cached_property
    def _fences(self) -> Fences:
        return Fences(self._marked)

    @cached_property
    def _arguments(self) -> list[tuple[int, int]]:
        return argument_spans(self._text)

    def _call_end(self, at: int) -> int:
        """The end of the call arguments around that position; 0 where there are none."""
        if not self._arguments:
            return 0
        start, end = self._arguments[bisect_right(self._arguments, (at, len(self._text))) - 1]
        return end if start <= at < end else 0

    def _code_end(self, at: int) -> int:
        """The end of the block or code span around that position; 0 where there is none."""
        if at >= len(self._marked):
            return 0
        return self._fences.block_end(at) or self._line_of(at).span_end(at)

    def _first_with_rest(self, tag: str) -> int:
        """The first protected tag whose rest leaves no fence open, and no back-tick of its first line unpaired.

        A first line that is itself a fence may hold any back-ticks.
        """
        at = 0
        while (found := _unquoted(tag).search(self._marked, at)) is not None:
            at = self._call_end(found.start()) or self._resume(found.end(), tag)
            if at == _STANDS_ALONE:
                return found.start()
        return -1

    def _resume(self, position: int, tag: str) -> int:
        """-1 if the text from there on stands alone, else from where on that of another tag may."""
        if self._fences.opens_at(position):
            return position if self._fences.left_open_after(position) else _STANDS_ALONE
        if self._fences.left_open_after(position):
            return self._next_before_fence(position, tag, self._fences.next_line(position))
        resume = self._line_of(position).paired_after(position)
        return _STANDS_ALONE if resume <= position else self._next_before_fence(position, tag, resume)

    def _next_before_fence(self, position: int, tag: str, until: int) -> int:
        """Where the next tag in front of a fence stands, whose rest has a fence for its first line; `until` at most."""
        if self._before_fence_at < position:
            found = _before_fence(tag).search(self._marked, position)
            self._before_fence_at = found.start() if found else len(self._text)
        return min(self._before_fence_at, until)

    def _line_of(self, at: int) -> Line:
        if self._line is None or not self._line.holds(at):
            text = self._marked
            end = text.find("\n", at)
            self._line = Line(text, text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end)
        return self._line


@lru_cache(maxsize=32)
def _unquoted(tag: str) -> re.Pattern[str]:
    """The tag, not touched on both sides by matching quote marks."""
    literal = re.escape(tag)
    return re.compile(literal + "".join(f"(?!(?<={left}{literal}){right})" for left, right in _QUOTES))


@lru_cache(maxsize=32)
def _before_fence(tag: str) -> re.Pattern[str]:
    """The tag in front of what may be a fence."""
    return re.compile(re.escape(tag) + f"(?={_FENCES_BEHIND})")
