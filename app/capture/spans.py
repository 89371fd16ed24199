"""Inline code of one line: back-tick runs of equal length pair, the rest are literal (CommonMark 6.1, one line)."""

import re
from bisect import bisect_left, bisect_right

_RUN = re.compile("`+")


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

    def in_code(self, position: int) -> bool:
        """Whether that position stands inside a code span."""
        return self._ticks.in_code(position)

    def paired_from(self, position: int) -> bool:
        """Whether every run from that position on has its partner behind it too."""
        return self._ticks.paired_from(position)


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

    def in_code(self, position: int) -> bool:
        before = self._before(position)
        return before % 2 == 1 and before < self._total

    def paired_from(self, position: int) -> bool:
        return (self._total - self._before(position)) % 2 == 0


class _Runs:
    """Runs of any length: the next run of the same length is found once for all, from the right."""

    def __init__(self, text: str, start: int, end: int) -> None:
        runs = [match.span() for match in _RUN.finditer(text, start, end)]
        self._begins = [begin for begin, _ in runs]
        self._paired = [True] * (len(runs) + 1)  # whether all runs pair when reading starts there
        partner = self._pair(runs)
        self._opens: list[int] = []  # where the inside of each code span begins, and where it ends
        self._closes: list[int] = []
        run = 0
        while run < len(runs):
            closing = partner[run]
            if closing >= 0:
                self._opens.append(runs[run][1])
                self._closes.append(runs[closing][0])
                run = closing
            run += 1

    def _pair(self, runs: list[tuple[int, int]]) -> list[int]:
        """For each run the next one of the same length, or -1."""
        nearest: dict[int, int] = {}
        partner, paired = [-1] * len(runs), self._paired
        for run in range(len(runs) - 1, -1, -1):
            begin, end = runs[run]
            closing = nearest.get(end - begin, -1)
            partner[run] = closing
            paired[run] = closing >= 0 and paired[closing + 1]
            nearest[end - begin] = run
        return partner

    def in_code(self, position: int) -> bool:
        span = bisect_right(self._opens, position) - 1
        return span >= 0 and position < self._closes[span]

    def paired_from(self, position: int) -> bool:
        return self._paired[bisect_left(self._begins, position)]
