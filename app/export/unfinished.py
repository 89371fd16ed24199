"""What an unfinished export has done so far, beside its `.part`: enough to go on as of the same seq after any end.

The census is kept whole: what was not answered as of an older seq, nobody can count again.
"""

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from app.export.census import Census, LeftOut
from app.export.hashing import Written
from app.export.request import Container, ExportRequest, Only
from app.export.template import Template
from app.export.walk import Walked
from app.model.errors import Refused, UsageError
from app.model.ids import EndpointId
from app.model.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides the bytes of a file: an export goes on with the same or not at all."""

    tool: str
    only: Only
    limit: int | None
    allow_uncaptured: bool
    container: Container
    shard_size: int | None
    template: Template | None


@dataclass(frozen=True, slots=True)
class Place:
    """How far the lines are that lie in the `.part` for certain."""

    after: int = 0  # the ordinal of the last job that was looked at
    bytes: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class _Walked:
    """`Walked` as JSON can hold it: an object has no null for a key."""

    rows: int
    jobs: int
    verdicts: dict[Verdict, int]
    finish_reasons: list[tuple[str | None, int]]
    met: dict[Verdict, int]
    left: dict[str, int]
    excluded: list[LeftOut]
    endpoints: list[tuple[EndpointId | None, int]]
    parser_versions: list[int]
    with_tool_calls: int


@dataclass(frozen=True, slots=True)
class _Notes:
    asked: Asked
    started: str
    census: Census
    walked: _Walked
    place: Place
    sealed: Written | None


@dataclass(slots=True)
class Unfinished:
    """An export between its first line and its manifest."""

    asked: Asked
    started: str
    census: Census
    walked: Walked
    place: Place
    sealed: Written | None = None  # the whole file, from the moment on when it may have its name

    def to_json(self) -> bytes:
        """The notes as they are written."""
        notes = _Notes(self.asked, self.started, self.census, _saved(self.walked), self.place, self.sealed)
        return msgspec.json.encode(notes)

    def from_the_start(self) -> None:
        """Forget the lines, and keep what they are to be: the dataset as of the same seq."""
        self.walked, self.place, self.sealed = Walked(), Place(), None


def asked_of(request: ExportRequest) -> Asked:
    """What decides the bytes of the request's file."""
    return Asked(
        version("thinkledger"), request.only, request.limit, request.allow_uncaptured, request.container,
        request.shard_size, request.template,
    )  # fmt: skip


def notes_of(part: Path) -> Path:
    """Where the notes of a `.part` lie."""
    return part.with_name(part.name + ".json")


def load(part: Path) -> Unfinished | None:
    """The unfinished export of a `.part`; None where none is noted down."""
    path = notes_of(part)
    if not path.exists():
        return None
    try:
        notes = msgspec.json.decode(path.read_bytes(), type=_Notes)
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{path} cannot be read ({error}), so nothing can go on from it. Without --resume the export starts again."
        ) from error
    return Unfinished(notes.asked, notes.started, notes.census, _restored(notes.walked), notes.place, notes.sealed)


def refuse_other(unfinished: Unfinished, request: ExportRequest, store: tuple[str, int]) -> None:
    """Refuse to go on with another store, another dataset or other options than an export was begun with."""
    census = unfinished.census
    if (census.store_id, census.epoch) != store:
        raise Refused(
            f"The unfinished export of {request.target} was begun from another store, or before this one was "
            "restored. Without --resume it starts again."
        )
    if census.name != request.dataset or unfinished.asked != asked_of(request):
        was = unfinished.asked
        raise UsageError(
            f"The unfinished export of {request.target} was begun by version {was.tool} for dataset {census.name} "
            f"with {_words(was)}. Say the same, or leave --resume out."
        )


def _words(was: Asked) -> str:
    """What an export was begun with."""
    file = was.container
    return (
        f"--preset {file.preset} --format {file.format} --only {was.only}, limit {was.limit}, packing {file.packing}, "
        f"rows a shard {was.shard_size}, {_template(was)}, "
        f"uncaptured {'allowed' if was.allow_uncaptured else 'refused'}"
    )


def _template(was: Asked) -> str:
    """Which template, as far as a person tells two from each other."""
    if was.template is None:
        return "no template"
    return f"template {was.template.name} ({was.template.sha256[:12]}) and end token {was.template.end_token!r}"


def _saved(walked: Walked) -> _Walked:
    return _Walked(
        rows=walked.rows,
        jobs=walked.jobs,
        verdicts=dict(walked.verdicts),
        finish_reasons=list(walked.finish_reasons.items()),
        met=dict(walked.met),
        left=dict(walked.left),
        excluded=walked.excluded,
        endpoints=list(walked.endpoints.items()),
        parser_versions=sorted(walked.parser_versions),
        with_tool_calls=walked.with_tool_calls,
    )


def _restored(saved: _Walked) -> Walked:
    return Walked(
        rows=saved.rows,
        jobs=saved.jobs,
        verdicts=Counter(saved.verdicts),
        finish_reasons=Counter(dict(saved.finish_reasons)),
        met=Counter(saved.met),
        left=Counter(saved.left),
        excluded=list(saved.excluded),
        endpoints=Counter(dict(saved.endpoints)),
        parser_versions=set(saved.parser_versions),
        with_tool_calls=saved.with_tool_calls,
    )
