"""The bins of histograms. Those of reasoning lengths double, from below 128 characters on; those of latencies are times
that people say. Pure."""

from bisect import bisect_right

FIRST, LAST = 7, 18  # the first bin ends below 2**7 characters, the last begins at 2**18
BINS: tuple[int, ...] = (1, *(2**power for power in range(FIRST, LAST + 1)))  # the least length of each bin

# Milliseconds that a bin of latencies ends with, itself included; the last bin has no end.
LATENCY_ENDS: tuple[int, ...] = tuple(
    seconds * 1000 for seconds in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200)
)
LATENCY_BINS: tuple[int, ...] = (0, *(end + 1 for end in LATENCY_ENDS))  # the least latency of each bin


def bin_of(length: int) -> int:
    """The least length of the bin that a length of one character or more belongs to."""
    return BINS[bisect_right(BINS, length) - 1]


def latency_bin_of(latency_ms: int) -> int:
    """The least latency of the bin that a latency of nothing or more belongs to."""
    return LATENCY_BINS[bisect_right(LATENCY_BINS, latency_ms) - 1]
