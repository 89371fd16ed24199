"""The server's clock, as every host sees it: what a host's own clock says means nothing to the others."""

import time


class ServerClock:
    """The server's wall time: the newest one that it told, and what this process's monotonic clock counted since."""

    def __init__(self) -> None:
        self._ahead_ms = time.time_ns() // 1_000_000 - _monotonic_ms()

    def tell(self, now_ms: int) -> None:
        """The server says this is now."""
        self._ahead_ms = now_ms - _monotonic_ms()

    def __call__(self) -> int:
        """Milliseconds since 1970."""
        return _monotonic_ms() + self._ahead_ms


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
