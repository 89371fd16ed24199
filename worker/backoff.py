"""What a failed attempt means: a table from cause to move (docs/explanation has it in words). Pure.

Nothing that the server's trouble causes burns a prompt's tries: a failure counts only where the endpoint answered other
jobs in the same five minutes, so that the job itself is the likelier cause.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.model.lease import Cause, Settle
from app.model.limits import LONGEST_WAIT_MS

FIRST_WAIT_MS = 2_000
ANSWERED_LATELY_S = 300.0


class Counts(StrEnum):
    """When a failure raises the tries of its job."""

    NEVER = "never"
    IF_SERVER_WELL = "if_server_well"  # the endpoint answered other jobs in the last five minutes


@dataclass(frozen=True, slots=True)
class Rule:
    """What one cause does to the job, the endpoint and the worker."""

    settle: Settle
    counts: Counts = Counts.NEVER
    holds_endpoint: bool = False  # ask it nothing until it is well again
    slows_endpoint: bool = False  # it says it has too much to do
    stops_worker: bool = False  # only a person can mend it

    @property
    def may_be_the_server_s(self) -> bool:
        """Whether several of them in a row make the endpoint ill."""
        return self.counts is Counts.IF_SERVER_WELL


RULES: dict[Cause, Rule] = {
    Cause.UNREACHABLE: Rule(Settle.RELEASE, holds_endpoint=True),
    Cause.DENIED: Rule(Settle.RELEASE, stops_worker=True),
    Cause.NO_SUCH_MODEL: Rule(Settle.RELEASE, stops_worker=True),
    Cause.BUSY: Rule(Settle.POSTPONE, slows_endpoint=True),
    Cause.SERVER_ERROR: Rule(Settle.POSTPONE, Counts.IF_SERVER_WELL),
    Cause.CUT: Rule(Settle.POSTPONE, Counts.IF_SERVER_WELL),
    Cause.TIMED_OUT: Rule(Settle.POSTPONE, Counts.IF_SERVER_WELL),
    Cause.ABORTED: Rule(Settle.POSTPONE, Counts.IF_SERVER_WELL),
    Cause.MALFORMED: Rule(Settle.POSTPONE, Counts.IF_SERVER_WELL),
    Cause.REJECTED: Rule(Settle.GIVE_UP),
    Cause.TOO_LARGE: Rule(Settle.GIVE_UP),
    Cause.UNSENDABLE: Rule(Settle.GIVE_UP),
    Cause.OUT_OF_FILES: Rule(Settle.POSTPONE, slows_endpoint=True),
    Cause.KILLS_SERVER: Rule(Settle.GIVE_UP),
}

_BY_STATUS: dict[int, Cause] = {
    400: Cause.REJECTED,
    401: Cause.DENIED,
    403: Cause.DENIED,
    404: Cause.NO_SUCH_MODEL,
    405: Cause.NO_SUCH_MODEL,
    408: Cause.BUSY,
    409: Cause.BUSY,
    413: Cause.REJECTED,
    422: Cause.REJECTED,
    425: Cause.BUSY,
    429: Cause.BUSY,
    503: Cause.BUSY,
}


def cause_of_status(status: int) -> Cause:
    """The cause behind an HTTP status that is no answer; a redirect means that the URL is wrong."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        return Cause.NO_SUCH_MODEL
    return Cause.REJECTED if 400 <= status < 500 else Cause.SERVER_ERROR


def cause_of_flags(flags: frozenset[str]) -> Cause:
    """The cause behind a whole HTTP 200 that is no answer."""
    return Cause.ABORTED if "aborted" in flags else Cause.MALFORMED


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done about one failure."""

    settle: Settle
    counted: bool
    wait_ms: int  # from now; of POSTPONE only


def decide(
    cause: Cause, *, tries: int, server_well: bool, retry_after_s: float | None, random: Callable[[], float]
) -> Decision:
    """The move of a job whose attempt failed with `cause`; `tries` are its counted failures so far."""
    rule = RULES[cause]
    counted = rule.counts is Counts.IF_SERVER_WELL and server_well
    wait_ms = 0 if rule.settle is not Settle.POSTPONE else wait(tries, retry_after_s, random)
    return Decision(rule.settle, counted, wait_ms)


def wait(tries: int, retry_after_s: float | None, random: Callable[[], float]) -> int:
    """Milliseconds to wait: what the server asks for, else doubling from two seconds, both with up to half more.

    The jitter keeps a thousand jobs of one bad minute from coming back in the same second.
    """
    asked = FIRST_WAIT_MS * 2 ** min(tries, 12) if retry_after_s is None else retry_after_s * 1000
    return int(min(asked * (1 + random() / 2), LONGEST_WAIT_MS))


def retry_after(header: str | None) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3) in its number form; None for its date form and nonsense."""
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return float(header.strip()[:9])
