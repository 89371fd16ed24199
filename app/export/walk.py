"""The walk over all accepted answers of a census: each becomes a line, or a counted reason why not."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from app.export import columns
from app.export.census import IDS_LISTED, Census, LeftOut
from app.export.conversations import rows_of
from app.export.lines import line_of
from app.export.pages import Answered, Columns, answers
from app.export.presets import SHAPES, Preset
from app.export.request import Format, Only, lost_reasoning, takes
from app.export.sink import Sink
from app.export.template import Template
from app.export.values import Exported, Unfit
from app.model.errors import CaptureFailed, IntegrityFailure
from app.model.ids import EndpointId
from app.model.verdicts import Verdict
from app.store.store import Store

OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True)
class Taking:
    """Which answers become lines."""

    only: Only
    limit: int | None
    allow_uncaptured: bool
    preset: Preset = Preset.RUN_INFERENCE
    format: Format = Format.JSONL
    template: Template | None = None


@dataclass(slots=True)
class Walked:
    """What a walk met. It grows by fixed amounts only: of ids that are left out, the first thousand are kept."""

    rows: int = 0
    jobs: int = 0  # that the rows are of; the counts below are of these
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    finish_reasons: Counter[str | None] = field(default_factory=Counter)
    met: Counter[Verdict] = field(default_factory=Counter)  # of all accepted answers
    left: Counter[str] = field(default_factory=Counter)
    excluded: list[LeftOut] = field(default_factory=list)
    endpoints: Counter[EndpointId | None] = field(default_factory=Counter)
    parser_versions: set[int] = field(default_factory=set)
    with_tool_calls: int = 0  # in any of their turns

    @property
    def unfit(self) -> dict[str, int]:
        """Answers that were asked for and have no row in such a file, by the reason."""
        known = {*map(str, Verdict), OVER_LIMIT}
        return {reason: count for reason, count in self.left.items() if reason not in known}

    def left_out(self, census: Census) -> dict[str, int]:
        """All jobs that are no line, by the reason."""
        return dict(census.without_answer) | dict(self.left)


async def _pass(_until: int) -> None:
    """Nobody waits for the ends of pages."""


async def walk(
    store: Store,
    census: Census,
    taking: Taking,
    sink: Sink,
    walked: Walked | None = None,
    after: int = 0,
    on_page: Callable[[int], Awaitable[None]] = _pass,
) -> Walked:
    """Write every line to the sink. The jobs of the census are accounted for to the last one, or this raises.

    `walked` and `after` are what an export met that was cut off; `on_page` is told the ordinal that each page ends at.
    """
    walked = await write_lines(store, census, taking, sink, walked, after, on_page)
    _check(census, walked)
    return walked


async def write_lines(
    store: Store,
    census: Census,
    taking: Taking,
    sink: Sink,
    walked: Walked | None = None,
    after: int = 0,
    on_page: Callable[[int], Awaitable[None]] = _pass,
) -> Walked:
    """The same without the account: as of an older seq, nobody knows any more what was not answered then."""
    walked = Walked() if walked is None else walked
    async for page in answers(store, census, after, columns_of(taking.preset)):
        sink.write(lines_of(walked, page.answers, taking))
        await on_page(page.until)
    return walked


def columns_of(preset: Preset) -> Columns:
    """What the lines of a preset are made of."""
    return Columns(facts=SHAPES[preset].facts, tokens=preset is Preset.TOKENS)


def lines_of(walked: Walked, answered: Iterable[Answered], taking: Taking) -> Iterator[bytes]:
    """The lines of some answers; what comes of each is counted in `walked`."""
    for answer in answered:
        yield from _take(walked, answer, taking)


def _take(walked: Walked, answer: Answered, taking: Taking) -> list[bytes]:
    """The lines of a job: one, more of a conversation whose generations are rows, or none with a counted reason."""
    walked.met[answer.verdict] += 1
    reason = _why_not(walked, answer, taking)
    if reason is not None:
        _leave_out(walked, answer, reason)
        return []
    if lost_reasoning(answer.verdict) and not taking.allow_uncaptured:
        raise CaptureFailed(
            f"Sample {answer.sample_id!r} has lost its reasoning ({answer.verdict}). Nothing was exported."
        )
    try:
        exported = answer.exported(taking.template)
        lines = [_line(row, taking) for row in rows_of(exported, taking.preset)]
    except Unfit as why:  # one generation that has no row leaves out its whole conversation
        _leave_out(walked, answer, why.reason)
        return []
    walked.rows += len(lines)
    walked.jobs += 1
    walked.verdicts[answer.verdict] += 1
    walked.finish_reasons[answer.finish_reason] += 1
    for row in answer.rows:
        walked.endpoints[None if row.endpoint_id is None else EndpointId(row.endpoint_id)] += 1
        walked.parser_versions.add(row.parser_version)
    generations = exported.generations or (exported,)
    walked.with_tool_calls += any(one.tool_calls is not None for one in generations)
    return lines


def _line(row: Exported, taking: Taking) -> bytes:
    """Raises Unfit where there is none in such a file."""
    line = line_of(row, taking.preset)
    if taking.format is Format.PARQUET:
        columns.cells(taking.preset, line)
    return line


def _leave_out(walked: Walked, answer: Answered, reason: str) -> None:
    walked.left[reason] += 1
    if len(walked.excluded) < IDS_LISTED:
        walked.excluded.append(LeftOut(answer.sample_id, answer.replica, reason))


def _why_not(walked: Walked, answer: Answered, taking: Taking) -> str | None:
    if not takes(taking.only, answer.verdict):
        return str(answer.verdict)
    return OVER_LIMIT if taking.limit is not None and walked.jobs >= taking.limit else None


def _check(census: Census, walked: Walked) -> None:
    accounted = walked.jobs + sum(walked.left_out(census).values())
    if accounted != census.total:
        raise IntegrityFailure(
            f"Dataset {census.name} has {census.total:,} jobs, and {accounted:,} were accounted for. "
            "Nothing was exported. Stop the workers and run `thinkledger verify`."
        )
    if census.foreseen and _known(walked.met) != _known(census.verdicts):
        raise IntegrityFailure(
            f"The jobs of dataset {census.name} and their readings differ in verdicts: {_known(census.verdicts)} and "
            f"{_known(walked.met)}. Nothing was exported. Run `thinkledger verify`."
        )


def _known(verdicts: Mapping[Verdict, int]) -> dict[str, int]:
    return {str(verdict): verdicts[verdict] for verdict in Verdict if verdicts.get(verdict)}
