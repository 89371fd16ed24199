"""What a list of samples shows, in what order: read from the words of an address or of a command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from app.model.errors import UsageError
from app.model.found import Found
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress.times import moment_ms

PER_PAGE, MOST = 50, 500
_LARGEST = 2**63 - 1


class Sort(StrEnum):
    """The order of a list."""

    ORDER = "order"  # of import
    ID = "id"
    NEWEST = "newest"  # by the time a job was done or failed
    OLDEST = "oldest"
    LONGEST = "longest"  # by the characters of its reasoning
    SHORTEST = "shortest"

    @property
    def by_text(self) -> bool:
        """Whether a place in it begins with a text, not with a number."""
        return self is Sort.ID


class Drive(StrEnum):
    """The index that a list is read by; what it does not know is looked for among the rows that it gives."""

    ALL = "all"  # the order of import
    STATE = "state"
    VERDICT = "verdict"
    CELL = "cell"  # one finish reason, reasoning found in one place
    FINISH = "finish"
    CAUSE = "cause"
    FLAG = "flag"  # anything that hints at a loss; few jobs have it
    ID = "id"
    FINISHED = "finished"
    REASONING = "reasoning"


class Way(StrEnum):
    """Which way an index is read."""

    UP = "up"
    DOWN = "down"

    @property
    def back(self) -> "Way":
        return Way.DOWN if self is Way.UP else Way.UP


_BY_SORT = {
    Sort.ID: (Drive.ID, Way.UP),
    Sort.NEWEST: (Drive.FINISHED, Way.DOWN),
    Sort.OLDEST: (Drive.FINISHED, Way.UP),
    Sort.LONGEST: (Drive.REASONING, Way.DOWN),
    Sort.SHORTEST: (Drive.REASONING, Way.UP),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """What is listed; None lets everything through. Times are those when a job was done or failed."""

    state: str | None = None
    verdict: str | None = None
    finish: str | None = None
    cause: str | None = None
    found: str | None = None
    flag: str | None = None  # what hints that text was lost
    q: str | None = None  # the beginning of the sample's id
    min_reasoning: int | None = None  # characters
    max_reasoning: int | None = None
    attempt_gt: int | None = None
    since: int | None = None  # milliseconds since 1970, included
    until: int | None = None  # excluded
    worker: int | None = None  # whose lease it is, or who brought the accepted answer

    def __post_init__(self) -> None:
        _refuse_unknown("state", self.state, JobState)
        _refuse_unknown("verdict", self.verdict, Verdict)
        _refuse_unknown("cause", self.cause, Cause)
        _refuse_unknown("found", self.found, Found)
        _refuse_unknown("flag", self.flag, LossFlag)
        if any(_unbindable(text) for text in (self.finish, self.q)):
            raise UsageError("A filter holds a character that no stored text can hold.")

    @property
    def sort(self) -> Sort:
        """The order that a list has when none is asked for: the one in which this filter finds its rows at once."""
        if self.q is not None:
            return Sort.ID
        if self.min_reasoning is not None or self.max_reasoning is not None:
            return Sort.SHORTEST
        if self.since is not None or self.until is not None:
            return Sort.NEWEST
        return Sort.ORDER

    def read_by(self, sort: Sort) -> tuple[Drive, Way]:
        """The index that gives the fewest rows beside those that are wanted, in the order that is wanted."""
        if sort is not Sort.ORDER:
            return _BY_SORT[sort]
        if self.flag is not None:
            return Drive.FLAG, Way.UP
        if self.finish is not None and self.found is not None:
            return Drive.CELL, Way.UP
        if self.verdict is not None:
            return Drive.VERDICT, Way.UP
        if self.cause is not None:
            return Drive.CAUSE, Way.UP
        if self.finish is not None:
            return Drive.FINISH, Way.UP
        return (Drive.ALL if self.state is None else Drive.STATE), Way.UP

    def words(self) -> dict[str, str]:
        """The filter as the words of an address."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: str(value) for name, value in said.items() if value is not None}


_NUMBERS = ("min_reasoning", "max_reasoning", "attempt_gt", "worker")
_TIMES = ("since", "until")
_TEXTS = ("state", "verdict", "finish", "cause", "found", "flag", "q")
KEYS = (*_TEXTS, *_NUMBERS, *_TIMES, "sort", "after", "per")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended, by the two values that its order goes by; the next one begins behind it."""

    major: int | str
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str, sort: Sort = Sort.ORDER) -> "Place":
        """The place that `str` wrote."""
        major, _, minor = text.rpartition(".")
        if not _is_number(minor) or not (sort.by_text or _is_number(major)) or _unbindable(major):
            raise UsageError(f"{text!r} is no place in a list. Take the one that the page before ended with.")
        return cls(major if sort.by_text else int(major), int(minor))


@dataclass(frozen=True, slots=True)
class Listing:
    """One page as it was asked for."""

    wanted: Filter = field(default_factory=Filter)
    sort: Sort = Sort.ORDER
    after: Place | None = None
    per: int = PER_PAGE

    def __post_init__(self) -> None:
        if not 1 <= self.per <= MOST:
            raise UsageError(f"A page holds 1 to {MOST} samples, not {self.per}.")

    def words(self) -> dict[str, str]:
        """The address of the list without the place in it."""
        sort = {} if self.sort is self.wanted.sort else {"sort": str(self.sort)}
        return self.wanted.words() | sort | ({} if self.per == PER_PAGE else {"per": str(self.per)})


def parse(words: Mapping[str, str]) -> Listing:
    """The page that the words of an address ask for. An unknown key or value is a UsageError that names the known."""
    unknown = sorted(set(words) - set(KEYS))
    if unknown:
        raise UsageError(f"There is no filter {unknown[0]!r}. Known: {', '.join(KEYS)}.")
    said = {name: value for name, value in words.items() if value != ""}  # an empty field of a form says nothing
    numbers = {name: number(name, said[name]) for name in _NUMBERS if name in said}
    numbers |= {name: moment_ms(name, said[name]) for name in _TIMES if name in said}
    texts = {name: said[name] for name in _TEXTS if name in said}
    wanted = Filter(**texts, **numbers)  # type: ignore[arg-type]
    _refuse_unknown("sort", said.get("sort"), Sort)
    sort = Sort(said["sort"]) if "sort" in said else wanted.sort
    after = Place.parse(said["after"], sort) if "after" in said else None
    return Listing(wanted, sort, after, number("per", said["per"]) if "per" in said else PER_PAGE)


def number(name: str, text: str) -> int:
    """A whole number that the store can compare with."""
    if not _is_number(text):
        raise UsageError(f"{name} is a whole number, not {text!r}.")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LARGEST


def _unbindable(text: str | None) -> bool:
    """A NUL or a lone surrogate: no stored text holds one, and SQLite cannot be asked for it."""
    return text is not None and any(sign == "\x00" or "\ud800" <= sign <= "\udfff" for sign in text)


def _refuse_unknown(name: str, said: str | None, known: type[StrEnum]) -> None:
    if said is not None and said not in set(known):
        raise UsageError(f"There is no {name} {said!r}. Known: {', '.join(known)}.")


EVERYTHING = Listing()
