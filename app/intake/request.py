"""What an import is asked to do, and what it reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.intake.lines import STDIN
from app.intake.matching import Repeats
from app.intake.normal import Turns
from app.intake.rows import Reading
from app.model.config import DatasetConfig

# Containers that people have and that are not read.
_UNREAD = (".arrow", ".feather", ".xlsx", ".zip", ".tar", ".tar.gz", ".tgz", ".xz", ".bz2", ".parquet.gz")


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """One file into one dataset."""

    dataset: str
    path: str  # or `-` for standard input
    reading: Reading = field(default_factory=Reading)
    repeats: Repeats = field(default_factory=Repeats)
    limit: int | None = None  # rows of the file, rejects included
    said: Mapping[str, Any] = field(default_factory=dict)  # settings of DatasetConfig that were given
    max_attempts: int | None = None
    rank: int | None = None  # None: that of the dataset

    def __post_init__(self) -> None:
        DatasetConfig().changed(**self.said)  # refuses what no dataset may set, before anything is opened

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the dataset that this import says."""
        turns = self.reading.turns
        return dict(self.said) if turns is None else {**self.said, "turns": turns.value}

    def into(self, config: DatasetConfig) -> "ImportRequest":
        """The request with what it leaves to the dataset, as the dataset has it now."""
        return replace(self, reading=replace(self.reading, turns=Turns(config.turns)))

    @property
    def source_name(self) -> str:
        return self.path if self.path == STDIN else Path(self.path).name


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is."""

    bytes_read: int
    size: int | None  # of the file in bytes, where it is known
    rows: int
    added: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that would not be taken: where it stands and why."""

    line: int
    reason: str
    expected: str
    detail: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. `rows` is the sum of added, present, dropped and rejected."""

    dataset: str
    file: str
    sha256: str | None  # None: not read to its end
    created: bool  # the dataset was made by this import
    rows: int
    added: int
    present: int  # in the dataset already
    dropped: int  # by --dedupe
    rejected: int
    repeated: int  # rows equal to an earlier row of the file, whatever became of them
    formats: Mapping[str, int]
    notes: Mapping[str, int]
    reasons: Mapping[str, int]
    rejects: Path | None  # where the rejected rows are written down
    damage: str | None = None  # where a compressed file ends to make sense
    results: Mapping[str, int] = field(default_factory=dict)  # answers of an old run that were taken, by verdict
    uncaptured: Path | None = None  # where those without usable reasoning are written down
    fates: Mapping[str, int] = field(default_factory=dict)  # ids of the same run that have not one answer
    unanswered: Path | None = None  # where they are named
    conversations: int = 0  # rows that ask for several answers, one after another
    turns: int = 0  # of these conversations
    samples: int = 1  # answers a prompt
    first_rejected: Sequence[Rejected] = ()  # of a dry run, which writes none of them down


def is_readable(path: str) -> bool:
    """Whether the name of a file leaves room for rows in it that can be read."""
    return not Path(path).name.lower().endswith(_UNREAD)
