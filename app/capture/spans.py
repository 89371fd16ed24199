"""Inline code of one line: back-tick runs of equal length pair, the rest are literal (CommonMark 6.1, one line)."""

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

_RUN = re.compile("(`+)")


class Line:
    """The back-ticks of `text[start:end]`. Positions are asked for in rising order, which makes the answers cheap."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        self._ticks: _SingleTicks | _Runs
        if text.find("``", start, end) < 0:
            self._ticks = _SingleTicks(text, start, end)
        else:
            self._ticks = _Runs(text, start, end)

    def holds(self, position: int) -> bool:
        """Whether the line is the one of that position."""
        return self.start <= position <= self.end

    def span_end(self, position: int) -> int:
        """Where the inside of the code span around that position ends; 0 where there is none."""
        return self._ticks.span_end(position)

    def paired_from(self, position: int) -> bool:
        """Whether every run from that position on has its partner behind it too."""
        return self.paired_after(position) <= position

    def paired_after(self, position: int) -> int:
        """The first position from there on, outside a run, from which every run has its partner behind it too."""
        return self._ticks.paired_after(position)


class _SingleTicks:
    """Runs of one back-tick only, as in nearly all real text: a matter of counting."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._total = text.count("`", start, end)
        self._start = self._seen_to = start
        self._seen = 0

    def _before(self, position: int) -> int:
        if position < self._seen_to:
            self._seen_to, self._seen = self._start, 0
        self._seen += self._text.count("`", self._seen_to, position)
        self._seen_to = position
        return self._seen

    def span_end(self, position: int) -> int:
        before = self._before(position)
        return self._text.find("`", position) if before % 2 == 1 and before < self._total else 0

    def paired_after(self, position: int) -> int:
        if (self._total - self._before(position)) % 2 == 0:
            return position
        return self._text.find("`", position) + 1


class _Runs:
    """Runs of any length: the next run of the same length is found once for all, from the right."""

    def __init__(self, text: str, start: int, end: int) -> None:
        pieces = _RUN.split(text[start:end])  # text, run, text, run ... text
        ends = list(accumulate(map(len, pieces), initial=start))
        self._begins, self._ends = ends[1:-1:2], ends[2::2]
        self._lengths = list(map(len, pieces[1::2]))
        self._partner = [-1] * len(self._lengths)
        self._paired = [True] * (len(self._lengths) + 1)  # whether all runs pair when reading starts there
        self._asked, self._settled = 0, -1  # the first run from there on with which reading may start
        self._pair()
        self._spans: tuple[list[int], list[int]] | None = None

    def _pair(self) -> None:
        """For each run the next one of the same length, or -1."""
        nearest: dict[int, int] = {}
        partner, paired = self._partner, self._paired
        for run in range(len(partner) - 1, -1, -1):
            length = self._lengths[run]
            closing = partner[run] = nearest.get(length, -1)
            paired[run] = closing >= 0 and paired[closing + 1]
            nearest[length] = run

    def _code(self) -> tuple[list[int], list[int]]:
        """Where the inside of each code span begins, and where it ends."""
        opens, closes, run = list[int](), list[int](), 0
        while run < len(self._partner):
            closing = self._partner[run]
            if closing >= 0:
                opens.append(self._ends[run])
                closes.append(self._begins[closing])
                run = closing
            run += 1
        return opens, closes

    def span_end(self, position: int) -> int:
        if self._spans is None:
            self._spans = self._code()
        opens, closes = self._spans
        span = bisect_right(opens, position) - 1
        return closes[span] if span >= 0 and position < closes[span] else 0

    def paired_after(self, position: int) -> int:
        run = bisect_left(self._begins, position)
        if not self._asked <= run <= self._settled:
            self._asked, self._settled = run, self._paired.index(True, run)
        settled = self._settled
        return position if settled == run else self._begins[settled - 1] + 1
