"""Step 2: which occurrences of a tag are only mentioned. Nothing is looked at before a tag occurs."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.capture.alone import look_at_fences, look_at_line, marked
from app.capture.fences import Fences
from app.capture.scanning import LOOK_CLOSER, outside_code, standing_alone, unquoted
from app.capture.spans import Line
from app.capture.tools import argument_spans

STANDS_ALONE = -1
_RULES = 4  # each costs a search to the end of the text
_LOOKS = 1  # how many lengths of the text are looked at before each tag is judged by itself


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
        return outside_code(self._text, tag, self._in_code, self._fences.covers)

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
        at = 0
        rest = _Rest(self._text, tag, self._fences, self._line_of)
        while (found := rest.next_candidate(at)) is not None:
            at = self._call_end(found.start()) or rest.resume(found.end(), found.lastgroup)
            if at == STANDS_ALONE:
                return found.start()
        return -1

    def _line_of(self, at: int) -> Line:
        if self._line is None or not self._line.holds(at):
            end = self._text.find("\n", at)
            self._line = Line(self._text, self._text.rfind("\n", 0, at) + 1, len(self._text) if end < 0 else end)
        return self._line


class _Rest:
    """Judges what stands behind one protected tag after the other, at a few looks as long as that is enough."""

    def __init__(self, text: str, tag: str, fences: Fences, line_of: Callable[[int], Line]) -> None:
        self._text, self._tag, self._fences, self._line_of = text, tag, fences, line_of
        self._looks = _LOOKS * len(text)
        self._rule, self._until, self._rules = "", 0, _RULES  # up to there each tag in front of such a fence fails
        self._closed_to = 0  # up to there no tag leaves a fence open, but in front of a fence
        self._marked_at = -1

    def next_candidate(self, at: int) -> re.Match[str] | None:
        """The next tag that may have a rest that stands alone."""
        found = standing_alone(self._tag, self._rule).search(self._text, at)
        if self._rule and self._until < (found.start() if found else len(self._text)):
            at, self._rule = max(at, self._until), ""
            found = standing_alone(self._tag, "").search(self._text, at)
        return found

    def resume(self, position: int, group: str | None) -> int:
        """STANDS_ALONE if the text from there on does, else from where on the next tag may."""
        closer = group in LOOK_CLOSER
        if closer and self._fences.opens_at(position):
            if not self._fences.left_open_after(position):
                return STANDS_ALONE
            if not self._rule and self._rules:
                self._rules -= 1
                self._rule, self._until = self._fences.alike_until(position)
            return position
        if self._fences.marked and position > self._closed_to:
            settled = self._after_fences(position)
            if settled != STANDS_ALONE:
                return settled
        return self._after_line(position) if closer else STANDS_ALONE

    def _after_fences(self, position: int) -> int:
        if self._looks <= 0:
            return position if self._fences.line_left_open_after(position) else STANDS_ALONE
        look = look_at_fences(self._text, position, self._tag)
        self._looks -= look.read
        if not look.alone:
            return max(look.resume, position)
        self._closed_to = look.resume
        return STANDS_ALONE

    def _after_line(self, position: int) -> int:
        if self._looks <= 0:
            resume = self._line_of(position).paired_after(position)
            return STANDS_ALONE if resume <= position else min(resume, self._next_marked(position))
        look = look_at_line(self._text, position, self._tag)
        self._looks -= look.read
        return STANDS_ALONE if look.alone else max(look.resume, position)

    def _next_marked(self, position: int) -> int:
        """Where the next tag in front of a fence stands, which may stand alone whatever its line holds before it."""
        if self._marked_at < position:
            found = marked(self._tag).search(self._text, position)
            self._marked_at = found.start() if found else len(self._text)
        return self._marked_at
