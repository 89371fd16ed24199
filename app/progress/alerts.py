"""What needs a person: alarms with their numbers, since when, what to do, and where the evidence is."""

from dataclasses import dataclass
from enum import StrEnum

from app.model.verdicts import Fraction
from app.progress.filters import Filter

CLEARED_SHOWN = 20
STALE_MS = 120_000  # an evaluation that is older counts as none


class AlarmState(StrEnum):
    """What became of an alarm."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"  # a person has seen it; it still stands
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where to look: samples of a dataset, or a page."""

    page: str  # samples, workers, about
    dataset: str | None = None
    wanted: Filter | None = None


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """One alarm. `part` of `whole` are its numbers, where it counts something."""

    id: int
    kind: str
    state: AlarmState
    dataset: str | None
    endpoint: str | None  # base URL
    holds: bool
    since_ms: int
    last_ms: int  # when its numbers were last renewed
    part: int | None
    whole: int | None
    message: str
    advice: str
    evidence: Evidence | None

    @property
    def numbers(self) -> Fraction | None:
        return None if self.part is None or self.whole is None else Fraction(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """When the alarms that time triggers were last looked at, and by whom."""

    at_ms: int | None  # None: never
    by: str | None
    age_ms: int | None

    @property
    def stale(self) -> bool:
        """Whether nobody evaluates them."""
        return self.age_ms is None or self.age_ms > STALE_MS


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """All alarms that stand, those that hold a dataset first, and the latest that are over."""

    as_of_ms: int
    seq: int
    standing: tuple[AlarmLine, ...]
    cleared: tuple[AlarmLine, ...]
    evaluation: Evaluation

    @property
    def open(self) -> tuple[AlarmLine, ...]:
        """Those that nobody has seen to: the number in the header."""
        return tuple(alarm for alarm in self.standing if alarm.state is AlarmState.OPEN)
