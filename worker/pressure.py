"""How many requests an endpoint may have open at once. Pure.

A server that says 429 or 503 gets half as many; each full round of good answers lets one more in. A Retry-After closes
it until then.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Pressure:
    """The limit of one endpoint, between 1 and `ceiling`."""

    ceiling: int
    limit: int
    closed_until_s: float = 0.0  # on the caller's monotonic clock
    _good: int = 0
    _halved_s: float = -1e9

    @classmethod
    def open(cls, ceiling: int) -> "Pressure":
        return cls(ceiling, ceiling)

    def room(self, busy: int, now_s: float) -> int:
        """How many more requests may be opened now."""
        return 0 if now_s < self.closed_until_s else max(0, self.limit - busy)

    def answered(self) -> None:
        """A good answer came."""
        self._good += 1
        if self._good >= self.limit and self.limit < self.ceiling:
            self.limit += 1
            self._good = 0

    def refused(self, now_s: float, retry_after_s: float | None) -> None:
        """The server said that it has too much to do. A burst of refusals halves the limit once a second, not to 1."""
        if now_s - self._halved_s >= 1.0:
            self.limit = max(1, self.limit // 2)
            self._good = 0
            self._halved_s = now_s
        if retry_after_s is not None:
            self.closed_until_s = max(self.closed_until_s, now_s + min(retry_after_s, 600.0))
