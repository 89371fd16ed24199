"""Which rows of a batch the dataset has already, and which are new. Pure: the store is asked before and told after.

The k-th row of a file with one id and content is the k-th such sample of the dataset, so that importing a file again
adds nothing, and N equal rows stay N jobs. To know k, an import remembers one bit for each sample that it has matched,
not a count for each row: 125 KB for a million samples.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.intake.identity import Origin
from app.intake.rows import Row

CROWD = 32  # samples under one id, from which on the import remembers how many of them it has used up


@dataclass(frozen=True, slots=True)
class Standing:
    """A sample that stands in the dataset under some base id."""

    key: int
    occurrence: int
    content: str  # as Row.content
    ours: bool  # added by this very import: a row of this file already


@dataclass(frozen=True, slots=True)
class Crowd:
    """Of a base id with many samples: the occurrences up to `used` are of one content, and matched or ours."""

    used: int
    content: str


class Matched:
    """What an import has matched so far; changed only after the commit that it belongs to."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self.crowds: dict[str, Crowd] = {}

    def __contains__(self, key: int) -> bool:
        place, bit = divmod(key, 8)
        return place < len(self._bits) and bool(self._bits[place] & 1 << bit)

    def leaves(self, sample: Standing) -> bool:
        """Whether no row of the file is this sample yet."""
        return not sample.ours and sample.key not in self

    def add(self, keys: Iterable[int], crowds: Mapping[str, Crowd]) -> None:
        for key in keys:
            place, bit = divmod(key, 8)
            if place >= len(self._bits):
                self._bits.extend(bytes(place + 1 + place // 8 - len(self._bits)))
            self._bits[place] |= 1 << bit
        self.crowds.update(crowds)


@dataclass(frozen=True, slots=True)
class New:
    """A row to be added as the given occurrence of its base id."""

    row: Row
    occurrence: int


@dataclass(slots=True)
class Plan:
    """What becomes of the rows of a batch."""

    new: list[New] = field(default_factory=list)
    matched: list[int] = field(default_factory=list)  # keys of samples that rows of the batch are
    dropped: list[Row] = field(default_factory=list)  # by --dedupe
    duplicates: list[Row] = field(default_factory=list)  # refused by --on-duplicate error
    conflicts: list[Row] = field(default_factory=list)  # other content under an explicit id
    repeated: int = 0  # rows equal to an earlier row of this file
    crowds: dict[str, Crowd] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Repeats:
    """What happens to rows that are there already."""

    drop: bool = False  # --dedupe
    refuse: bool = False  # --on-duplicate error

    @property
    def need_all(self) -> bool:
        """Whether every sample under an id must be known, used up or not."""
        return self.drop or self.refuse


class _Base:
    """All that is known of one base id while a batch is planned."""

    def __init__(self, standing: Sequence[Standing], matched: Matched, crowd: Crowd | None) -> None:
        self.highest = standing[-1].occurrence if standing else crowd.used if crowd else 0
        self.used = crowd.used if crowd else 0
        self.contents = {crowd.content} if crowd else set()
        self.first = crowd.content if crowd else standing[0].content if standing else None
        self.consumed: set[str] = set(self.contents)  # contents that this file has had already
        self.free: dict[str, deque[Standing]] = {}
        for sample in standing:
            self.contents.add(sample.content)
            if matched.leaves(sample):
                self.free.setdefault(sample.content, deque()).append(sample)
            else:
                self.consumed.add(sample.content)
                self.used += sample.occurrence == self.used + 1

    def take(self, content: str) -> Standing | None:
        """The first sample of this content that no row of the file is yet."""
        waiting = self.free.get(content)
        if not waiting:
            return None
        sample = waiting.popleft()
        self.used += sample.occurrence == self.used + 1
        return sample

    def grow(self, content: str) -> int:
        """The number of a new sample."""
        self.highest += 1
        self.first = content if self.first is None else self.first
        self.contents.add(content)
        self.used += self.highest == self.used + 1
        return self.highest

    def crowd(self) -> Crowd | None:
        """What is worth remembering: a long row of used samples, all of one content."""
        return Crowd(self.used, next(iter(self.contents))) if self.used >= CROWD and len(self.contents) == 1 else None


def plan(rows: Sequence[Row], standing: Mapping[str, Sequence[Standing]], matched: Matched, repeats: Repeats) -> Plan:
    """What becomes of each row, given the samples that stand under its base id, by occurrence."""
    made = Plan()
    bases: dict[str, _Base] = {}
    asked = Counter(row.identity.base_id for row in rows)
    for row in rows:
        name = row.identity.base_id
        if asked[name] == 1 and name not in standing and name not in matched.crowds:
            made.new.append(New(row, 1))  # most rows of most files: alone under an id that nobody has
            continue
        if name not in bases:
            crowd = None if repeats.need_all else matched.crowds.get(name)
            bases[name] = _Base(standing.get(name, ()), matched, crowd)
        _place(row, bases[name], made, repeats)
    made.crowds = {name: crowd for name, base in bases.items() if (crowd := base.crowd()) is not None}
    return made


def _place(row: Row, base: _Base, made: Plan, repeats: Repeats) -> None:
    content = row.content
    if _conflicts(row, base):
        made.conflicts.append(row)
        return
    if repeats.refuse and content in base.contents:
        made.duplicates.append(row)
        return
    made.repeated += content in base.consumed
    again = repeats.drop and content in base.consumed
    base.consumed.add(content)
    sample = None if again else base.take(content)
    if sample is not None:
        made.matched.append(sample.key)
    elif again:
        made.dropped.append(row)
    else:
        made.new.append(New(row, base.grow(content)))


def _conflicts(row: Row, base: _Base) -> bool:
    """The first content under an id is what it means. Others may stand there from rows whose prompt_id repeats."""
    return row.identity.origin is Origin.EXPLICIT and base.first not in (None, row.content)


def numbered(base_id: str, number: int) -> str:
    """The name of an occurrence: `x`, `x-2`, `x-3`."""
    return base_id if number == 1 else f"{base_id}-{number}"


def names(new: Sequence[New], taken: set[str]) -> list[str]:
    """A name for each new sample: its occurrence's, or the next number that is not taken."""
    used = set(taken)
    found = []
    following: dict[str, int] = {}
    for sample in new:
        base_id = sample.row.identity.base_id
        number = max(sample.occurrence, following.get(base_id, 0))
        while (name := numbered(base_id, number)) in used:
            number += 1
        used.add(name)
        found.append(name)
        following[base_id] = number + 1
    return found
