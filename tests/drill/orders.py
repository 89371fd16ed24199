"""What a launched process is told beside its command line: where to die, what to break, what to lie about."""

import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Orders:
    """Everything that the launcher changes from outside; the product itself knows none of it."""

    kill: tuple[str, int] | None = None  # a point of `points.py`, and at which pass of it
    broken: str | None = None  # a sabotage of `broken.py`
    journal: str | None = None  # a file that gets one line for every body the process was told is stored
    file_limit: int | None = None  # bytes that no file may outgrow (RLIMIT_FSIZE), as a quota does
    twice: bool = False  # every body is stored, and every answer settled, a second time
    older_reader: bool = False  # readings are written as an older parser would have: another flag in each
    on_server: bool = False  # the store is a database of a server
    constants: dict[str, float | str] = field(default_factory=dict)  # `module:NAME` -> value

    def as_text(self) -> str:
        """One argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Orders":
        """The orders that `as_text` wrote."""
        said = json.loads(text)
        kill = said.pop("kill")
        return cls(kill=None if kill is None else (str(kill[0]), int(kill[1])), **said)
