"""When a run ends: a range made of its own slow and fast times, or the word that says why there is none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.progress.rates import MINUTE_MS, STEP

PERSON = "person"


class Word(StrEnum):
    """What stands where a time cannot."""

    EMPTY = "empty"  # there is no job
    COMPLETE = "complete"  # nothing is ready, leased or waiting
    PAUSED = "paused"  # by a person
    HELD = "held"  # by a gate or an alarm
    NO_WORKER = "no worker"
    STALLED = "stalled"  # requests are open, and no answer comes
    MEASURING = "measuring"


@dataclass(frozen=True, slots=True)
class Eta:
    """From `soonest_ms` to `latest_ms` from now, or a word. `latest_ms` is None where the slow times gave nothing."""

    word: Word | None = None
    soonest_ms: int | None = None
    latest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether there is a time to tell."""

    total: int
    remaining: int  # jobs that are ready, leased or waiting
    held_by: Collection[str]  # kinds of the holds that stand
    workers: int  # open ones
    rate_known: bool
    stalled: bool = False


def eta(situation: Situation, five_minute_counts: Sequence[int]) -> Eta:
    """The 80th and the 20th percentile of five-minute rates give the ends of the range."""
    word = _word(situation)
    if word is not None:
        return Eta(word)
    fast, slow = percentile(five_minute_counts, 80), percentile(five_minute_counts, 20)
    if fast == 0:
        return Eta(Word.MEASURING)
    span_ms = situation.remaining * STEP * MINUTE_MS
    return Eta(None, span_ms // fast, span_ms // slow if slow else None)


def _word(situation: Situation) -> Word | None:
    if situation.total == 0:
        return Word.EMPTY
    if situation.remaining == 0:
        return Word.COMPLETE
    if situation.held_by:
        return Word.PAUSED if set(situation.held_by) == {PERSON} else Word.HELD
    if situation.workers == 0:
        return Word.NO_WORKER
    if situation.stalled:
        return Word.STALLED
    return None if situation.rate_known else Word.MEASURING


def percentile(values: Sequence[int], percent: int) -> int:
    """The smallest value that `percent` of all do not exceed (nearest rank); 0 of none."""
    if not values:
        return 0
    rank = -(-len(values) * percent // 100)
    return sorted(values)[max(rank, 1) - 1]
