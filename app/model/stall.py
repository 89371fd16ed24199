"""When a dataset counts as stalled: requests are open, and no answer comes for far longer than answers take. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_MS = 10 * 60_000
TIMES_P95 = 3


@dataclass(frozen=True, slots=True)
class Silence:
    """Open leases, and since when nothing was finished: the latest end, or the oldest lease if that came later."""

    leases: int
    since_ms: int
    latencies_ms: Sequence[int] = ()  # of the latest answers

    @property
    def allowed_ms(self) -> int:
        """How long a silence may be: ten minutes, or three times what all but the slowest answers took."""
        if not self.latencies_ms:
            return LEAST_MS
        rank = -(-len(self.latencies_ms) * 95 // 100)
        return max(LEAST_MS, TIMES_P95 * sorted(self.latencies_ms)[rank - 1])

    def stalled(self, now_ms: int) -> bool:
        return self.leases > 0 and now_ms - self.since_ms > self.allowed_ms
