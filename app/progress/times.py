"""Times as people type them: a date, a date and time as pages show it, or milliseconds since 1970. All are UTC."""

import re
from datetime import UTC, datetime, timedelta

from app.model.errors import UsageError

LATEST_MS = 253_402_300_799_999  # the end of the year 9999: later times have no date
_TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def moment_ms(name: str, text: str) -> int:
    """Milliseconds since 1970 of a time; one without a zone is UTC, one without a time of day begins its day."""
    at_ms = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else _of_date(text)
    if at_ms is None or not 0 <= at_ms <= LATEST_MS:
        raise UsageError(
            f"{name} is a time such as 2026-03-01T14:02 (UTC), or milliseconds since 1970, not {text[:40]!r}."
        )
    return at_ms


def _of_date(text: str) -> int | None:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    zone = "+00:00" if found["zone"] in (None, "Z", "UTC") else found["zone"]
    try:
        at = datetime.fromisoformat(f"{found['date']}T{found['time'] or '00:00'}{zone}")
    except ValueError:
        return None
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def typed(at_ms: int) -> str:
    """A time as a field for date and time holds it, to the millisecond: `2026-03-01T14:02:31.500`."""
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    seconds = at.strftime("%Y-%m-%dT%H:%M:%S")
    if at_ms % 1000:
        return f"{seconds}.{at_ms % 1000:03}"
    return seconds.removesuffix(":00") if at.second == 0 else seconds
