"""The limits of alarms that time triggers."""

import pytest

from app.model.stall import Silence
from app.model.timed import GIB, disk_low

MINUTE_MS = 60_000


@pytest.mark.parametrize(
    ("silence", "after_ms", "stalled"),
    [
        (Silence(64, 0), 10 * MINUTE_MS, False),
        (Silence(64, 0), 10 * MINUTE_MS + 1, True),
        (Silence(0, 0), 99 * MINUTE_MS, False),  # nothing is asked
        (Silence(64, 0, [1000] * 200), 10 * MINUTE_MS + 1, True),
        (Silence(64, 0, [8 * MINUTE_MS] * 200), 24 * MINUTE_MS, False),
        (Silence(64, 0, [8 * MINUTE_MS] * 200), 24 * MINUTE_MS + 1, True),
        # The slowest twentieth does not stretch what is allowed.
        (Silence(64, 0, [1000] * 190 + [60 * MINUTE_MS] * 10), 10 * MINUTE_MS + 1, True),
        (Silence(64, 0, [1000] * 189 + [60 * MINUTE_MS] * 11), 180 * MINUTE_MS, False),
    ],
)
def test_a_silence_is_a_stall_after_ten_minutes_or_three_slow_answers(
    silence: Silence, after_ms: int, *, stalled: bool
) -> None:
    assert silence.stalled(after_ms) is stalled


@pytest.mark.parametrize(
    ("free", "total", "says"),
    [
        (10 * GIB, 1000 * GIB, None),
        (10 * GIB - 1, 1000 * GIB, "about 9.9 GiB"),
        (2 * GIB - 1, 1000 * GIB, "less than 2 GiB"),
        (5 * GIB, 50 * GIB, None),  # a tenth of a small disk
        (5 * GIB - 1, 50 * GIB, "about 4.9 GiB"),
    ],
)
def test_a_disk_is_low_below_ten_gib_or_a_tenth_of_it(free: int, total: int, says: str | None) -> None:
    message = disk_low(free, total)
    assert (message is None) if says is None else (message is not None and says in message)
