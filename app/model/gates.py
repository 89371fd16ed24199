"""When a run must stop because reasoning is not captured. Pure: what came and the dataset's rules in, findings out.

A window holds what one dataset got of one server identity since it began (or since the last resume). A limit fires as
soon as it can no longer be met: 19 of 20 is out of reach at the second miss, not at the twentieth answer.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from app.model.config import DatasetConfig
from app.model.verdicts import CAPTURED, Verdict

RING = 200  # outcomes that a window remembers
RATE_SPAN = 50
HOLD_BELOW = Decimal("0.80")  # of the last RATE_SPAN; a dataset that asks for less is held below that
UNREADABLE_SPAN, UNREADABLE_AT = 20, 3
TRUNCATED_AT = RING // 10
TRUNCATED_HOLD_ABOVE = RATE_SPAN // 2


class Outcome(StrEnum):
    """One complete HTTP 200 body that a worker was sent, as one letter."""

    CAPTURED = "c"
    MISSING = "m"
    LEAKED = "l"
    TRUNCATED = "t"
    MALFORMED = "x"
    OFF = "n"  # thinking was switched off, and all is well
    OFF_LEAKED = "u"
    OFF_MALFORMED = "y"


RATED = Outcome.CAPTURED + Outcome.MISSING + Outcome.LEAKED  # the letters of the capture rate
FINISHED = RATED + Outcome.TRUNCATED
GATED = FINISHED + Outcome.MALFORMED  # the first check counts all that should have held reasoning
LOST = Outcome.MISSING + Outcome.LEAKED + Outcome.OFF_LEAKED
UNREADABLE = Outcome.MALFORMED + Outcome.OFF_MALFORMED


def outcome_of(verdict: Verdict, *, expected: bool, flags: frozenset[str]) -> Outcome | None:
    """What an answer counts as; None for what is none: another status than 200, or a generation the server broke off.

    An aborted answer says so itself and is asked again. It tells nothing about capture, and a server that is shut down
    in good order sends one for every open request.
    """
    if flags & {"http_error", "aborted"}:
        return None
    if verdict is Verdict.MALFORMED:
        return Outcome.MALFORMED if expected else Outcome.OFF_MALFORMED
    if not expected:
        return Outcome.OFF_LEAKED if verdict is Verdict.LEAKED else Outcome.OFF
    if verdict in CAPTURED:
        return Outcome.CAPTURED
    return {Verdict.LEAKED: Outcome.LEAKED, Verdict.TRUNCATED: Outcome.TRUNCATED}.get(verdict, Outcome.MISSING)


class Gate(StrEnum):
    """The check of the first answers."""

    OPEN = "open"  # not decided
    PASSED = "passed"
    FAILED = "failed"


class AlarmKind(StrEnum):
    """What needs a person."""

    GATE = "gate"
    CAPTURE_LOW = "capture_low"
    LOST_ANY = "lost_any"
    TRUNCATED_HIGH = "truncated_high"
    UNREADABLE = "unreadable"
    SERVER_CHANGED = "server_changed"
    # These are triggered by time, not by an answer (app.gates.evaluating).
    STALLED = "stalled"
    WORKER_DEAD = "worker_dead"
    DISK_LOW = "disk_low"
    ENDPOINT_DOWN = "endpoint_down"
    BACKUP_OLD = "backup_old"
    INTEGRITY = "integrity"
    TEXT_SHORT = "text_short_for_tokens"  # as the loss flags that they count
    CUT_UPSTREAM = "cut_upstream"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a dataset asks for."""

    gate: int
    least: Decimal  # share of answers that must be captured

    @classmethod
    def of(cls, config: DatasetConfig) -> "Rules":
        return cls(config.gate, Decimal(str(config.min_capture)))

    @property
    def hold_below(self) -> Decimal:
        return min(HOLD_BELOW, self.least)


@dataclass(frozen=True, slots=True)
class Window:
    """What came of one server for one dataset."""

    gate: Gate = Gate.OPEN
    first: str = ""  # the letters of the first answers, up to the gate's decision
    recent: str = ""  # the letters of the last RING
    answers: int = 0  # all that could be read
    lost: int = 0  # of them: missing or leaked


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that needs a person, with its numbers."""

    kind: AlarmKind
    part: int
    whole: int
    holds: bool = False
    needs: str = ""
    misses: tuple[tuple[Outcome, int], ...] = field(default=(), compare=False)  # most frequent first

    @property
    def key(self) -> tuple[AlarmKind, bool, int | None]:
        """What makes it worth saying again: newer numbers of a warning. A hold keeps the numbers that caused it."""
        return self.kind, self.holds, None if self.holds else self.part


@dataclass(frozen=True, slots=True)
class Watched:
    """A window after more answers, what is new about it, and what no longer holds."""

    window: Window
    raised: tuple[Finding, ...] = ()
    cleared: frozenset[AlarmKind] = frozenset()
    passed: bool = False  # the gate was passed just now


def watch(window: Window, outcomes: Iterable[Outcome], rules: Rules) -> Watched:
    """The window after `outcomes`, one after another: how they are cut into batches makes no difference to a hold."""
    before, held = tuple(findings(window, rules)), dict[AlarmKind, Finding]()
    now = window
    for outcome in outcomes:
        now = after(now, outcome, rules)
        if outcome is not Outcome.CAPTURED and outcome is not Outcome.OFF:  # a good answer makes nothing worse
            held = {found.kind: found for found in findings(now, rules) if found.holds} | held
    at_end = {found.kind: found for found in findings(now, rules)}
    known = {found.key for found in before}
    raised = tuple(found for found in (at_end | held).values() if found.key not in known)
    # A warning ends by itself; what holds ends on a person's word.
    cleared = frozenset(found.kind for found in before if not found.holds) - at_end.keys() - held.keys()
    passed = window.gate is Gate.OPEN and now.gate is Gate.PASSED
    return Watched(now, raised, cleared, passed)


def after(window: Window, outcome: Outcome, rules: Rules) -> Window:
    """The window with one more answer."""
    first = window.first + outcome if window.gate is Gate.OPEN and outcome in GATED else window.first
    return Window(
        gate=_decide(first, rules) if window.gate is Gate.OPEN else window.gate,
        first=first,
        recent=(window.recent + outcome)[-RING:],
        answers=window.answers + (outcome not in UNREADABLE),
        lost=window.lost + (outcome in LOST),
    )


def _decide(first: str, rules: Rules) -> Gate:
    if rules.gate == 0:
        return Gate.PASSED
    if _misses(first) > _may_miss(rules.gate, rules.least):
        return Gate.FAILED
    return Gate.PASSED if len(first) >= rules.gate else Gate.OPEN


def findings(window: Window, rules: Rules) -> Iterator[Finding]:
    """All that is wrong with a window now. What the gate found makes the rates say nothing new."""
    if window.lost:
        yield Finding(AlarmKind.LOST_ANY, window.lost, window.answers)
    if window.gate is Gate.FAILED:
        needed = rules.gate - _may_miss(rules.gate, rules.least)
        yield _found(AlarmKind.GATE, window.first, holds=True, needs=f"{needed} of {rules.gate}")
    else:
        yield from _capture_low(window, rules)
        yield from _truncated_high(window)
        yield from _unreadable(window)


def _capture_low(window: Window, rules: Rules) -> Iterator[Finding]:
    last = _last(window.recent, RATED, RATE_SPAN)
    missed = _misses(last)
    if missed > _may_miss(RATE_SPAN, rules.hold_below):
        yield _found(AlarmKind.CAPTURE_LOW, last, holds=True, needs=_percent(rules.hold_below))
    elif missed > _may_miss(RATE_SPAN, rules.least):
        yield _found(AlarmKind.CAPTURE_LOW, last, holds=False, needs=_percent(rules.least))


def _truncated_high(window: Window) -> Iterator[Finding]:
    lately = _last(window.recent, FINISHED, RING)
    last = lately[-RATE_SPAN:]
    cut_off = last.count(Outcome.TRUNCATED)
    if cut_off > TRUNCATED_HOLD_ABOVE:
        yield Finding(AlarmKind.TRUNCATED_HIGH, cut_off, len(last), holds=True)
    elif (cut_off := lately.count(Outcome.TRUNCATED)) >= TRUNCATED_AT:
        yield Finding(AlarmKind.TRUNCATED_HIGH, cut_off, len(lately))


def _unreadable(window: Window) -> Iterator[Finding]:
    last = window.recent[-UNREADABLE_SPAN:]
    broken = sum(last.count(letter) for letter in UNREADABLE)
    if broken >= UNREADABLE_AT:
        yield Finding(AlarmKind.UNREADABLE, broken, len(last), holds=True)


def unfinished(windows: Sequence[Window], rules: Rules) -> Finding | None:
    """What the windows of a dataset say at the end of a run, when no further answer will finish them.

    Bodies that were no answer are left out: by now their jobs were asked again, or have failed.
    """
    if any(found.holds for window in windows for found in findings(window, rules)):
        return None  # held already, by the answer that caused it
    first = "".join(window.first for window in windows if window.gate is Gate.OPEN).replace(Outcome.MALFORMED, "")
    if len(first) - _misses(first) < rules.least * len(first):
        return _found(AlarmKind.GATE, first, holds=True, needs=_percent(rules.least))
    lasts = (_last(window.recent, RATED, RATE_SPAN) for window in windows if window.gate is Gate.PASSED)
    last = "".join(lasts)
    if len(last) - _misses(last) < rules.hold_below * len(last):
        return _found(AlarmKind.CAPTURE_LOW, last, holds=True, needs=_percent(rules.hold_below))
    return None


def _found(kind: AlarmKind, letters: str, *, holds: bool, needs: str) -> Finding:
    misses = Counter(letter for letter in letters if letter != Outcome.CAPTURED).most_common()
    captured = len(letters) - _misses(letters)
    return Finding(kind, captured, len(letters), holds, needs, tuple((Outcome(letter), n) for letter, n in misses))


def _misses(letters: str) -> int:
    return len(letters) - letters.count(Outcome.CAPTURED)


def _may_miss(span: int, least: Decimal) -> int:
    """How many of `span` answers may lack reasoning; exact, since 0.55 * 20 as floats is more than 11."""
    return span - math.ceil(least * span)


def _last(letters: str, wanted: str, span: int) -> str:
    return "".join(letter for letter in letters if letter in wanted)[-span:]


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f} %"
