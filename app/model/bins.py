"""The bins of reasoning lengths: they double, from the first below 128 characters to the last. Pure."""

from bisect import bisect_right

FIRST, LAST = 7, 18  # the first bin ends below 2**7 characters, the last begins at 2**18
BINS: tuple[int, ...] = (1, *(2**power for power in range(FIRST, LAST + 1)))  # the least length of each bin


def bin_of(length: int) -> int:
    """The least length of the bin that a length of one character or more belongs to."""
    return BINS[bisect_right(BINS, length) - 1]
