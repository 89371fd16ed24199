"""How busy the slots were over time, in bounded memory, and an exact integral of it."""

from collections.abc import Callable

KEPT = 4096


class Timeline:
    """Samples of (seconds, busy, queued) at the changes, thinned when there are many, and busy slot-seconds exactly."""

    def __init__(self, clock: Callable[[], float], kept: int = KEPT) -> None:
        self._clock = clock
        self._kept = kept
        self.start(0, 0)

    def start(self, busy: int, queued: int) -> None:
        """Begin anew: this moment is second 0."""
        self._origin = self._clock()
        self._since = 0.0
        self._busy = busy
        self._busy_seconds = 0.0
        self._stride = 1
        self._skipped = 0
        self.samples: list[tuple[float, int, int]] = [(0.0, busy, queued)]

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return self._clock() - self._origin

    @property
    def busy_slot_seconds(self) -> float:
        """The integral of the busy slots from the start until now."""
        return self._busy_seconds + self._busy * (self.seconds - self._since)

    def record(self, busy: int, queued: int) -> None:
        """Something changed now."""
        now = self.seconds
        self._busy_seconds += self._busy * (now - self._since)
        self._since, self._busy = now, busy
        self._skipped += 1
        if self._skipped >= self._stride:
            self._skipped = 0
            self.samples.append((round(now, 6), busy, queued))
            if len(self.samples) >= self._kept:
                self._thin()

    def _thin(self) -> None:
        """Keep every second sample, and take half as many from now on."""
        self.samples = self.samples[::2]
        self._stride *= 2
