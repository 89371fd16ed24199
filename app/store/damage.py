"""What a process has seen of damaged pages, until somebody has kept it."""

import time
from dataclasses import dataclass

AGAIN_S = 600.0  # one that is met at every look is told of so often


@dataclass(slots=True)
class Damage:
    """The latest sight. A page that cannot be read is met again and again, and is one piece of news."""

    _words: str | None = None
    _told: str | None = None
    _told_s: float = 0.0

    def saw(self, words: str) -> None:
        """SQLite said this of a page."""
        if words != self._told or time.monotonic() - self._told_s > AGAIN_S:
            self._words = words

    def untold(self) -> str | None:
        """What nobody has kept yet."""
        return self._words

    def told(self) -> None:
        """It is kept now."""
        self._told, self._words, self._told_s = self._words, None, time.monotonic()
