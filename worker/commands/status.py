"""`thinkledger status`: the Overview in text, from the same function as the page."""

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from worker import cli_context

if TYPE_CHECKING:
    from app.progress.overview import Alarm, DatasetProgress, Overview, Pace, Tally

WATCH_SECONDS = 2.0
_CLEAR = "\x1b[H\x1b[2J"
_RED = "\x1b[31m{}\x1b[0m"


def register(app: typer.Typer) -> None:
    app.command("status", help="Show how far each dataset is: progress, capture, rate, ETA, holds and workers.")(status)


def status(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One dataset; all without it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every two seconds until interrupted.")] = False,
) -> None:
    """Print the Overview once, or again and again."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.progress.gathering import overview
        from app.store.store import open_store

        async with open_store(settings.db) as store:
            await _show(await overview(store, name), as_json=as_json, clear=False)
            while watch:
                import anyio

                await anyio.sleep(WATCH_SECONDS)
                await _show(await overview(store, name), as_json=as_json, clear=sys.stdout.isatty())

    cli_context.run(command)


async def _show(overview: "Overview", *, as_json: bool, clear: bool) -> None:
    if as_json:
        from app.progress.as_json import overview_json

        cli_context.put_json({"as_of": overview.as_of_ms, "seq": overview.seq, "data": overview_json(overview)})
        return
    text = "\n".join(lines(overview, _RED if sys.stdout.isatty() and "NO_COLOR" not in os.environ else "{}"))
    cli_context.put(f"{_CLEAR}{text}" if clear else text)


def lines(overview: "Overview", red: str = "{}") -> Iterator[str]:
    """The Overview, line by line; `red` is how a line that needs a person is shown."""
    from app.progress import wording
    from app.progress.display import one_line

    width = max((len(dataset.name) for dataset in overview.datasets), default=0)
    for dataset in overview.datasets:
        yield from _dataset(dataset, width, red)
    if not overview.datasets:
        yield "No dataset yet. Make one with `thinkledger import NAME FILE`."
    if len(overview.datasets) > 1:
        yield ""
        yield f"{'all':{width}}  {_how_far(overview.total, overview.pace)}"
    yield ""
    for alarm in overview.warnings:
        yield red.format(_alarm(alarm))
    for number, told in enumerate(wording.spool(overview.spool)):
        yield red.format(f"{'' if number else 'spool':7}  {one_line(told)}")
    yield f"workers  {wording.workers(overview.workers)}"
    as_of = wording.moment(overview.as_of_ms)
    yield f"store    {wording.size(overview.store_bytes)}  seq {overview.seq:,}  as of {as_of}"


def _how_far(tally: "Tally", pace: "Pace") -> str:
    """`2,900/10,000 29.0 %  cap 2,871/2,888 99.4 %  118 /h  902 tok/s  ETA 2 d 12 h`"""
    from app.progress import wording

    done, captured = tally.progress, tally.capture
    share = f"{done} {done.percent}  cap {captured} {captured.percent}"
    return f"{share}  {wording.pace(pace)}  ETA {wording.eta(pace.eta)}"


def _alarm(alarm: "Alarm") -> str:
    """`ALARM lost_any B1_glaive since ...: 19 of 2,888 answers ...`"""
    from app.progress import wording
    from app.progress.display import one_line

    about = f" {alarm.dataset}" if alarm.dataset else ""
    return f"ALARM {alarm.kind}{about} since {wording.moment(alarm.since_ms)}: {one_line(alarm.message)}"


def _dataset(dataset: "DatasetProgress", width: int, red: str) -> Iterator[str]:
    from app.progress import wording
    from app.progress.display import one_line

    tally = dataset.tally
    yield f"{dataset.name:{width}}  {_how_far(tally, dataset.pace)}"
    indent = " " * width
    yield f"{indent}  {wording.states(tally)}"
    yield (
        f"{indent}  missing {tally.missing:,}  leaked {tally.leaked:,}  truncated {tally.truncated} "
        f"{tally.truncated.percent}  late answers {tally.late:,}  failed in 1 h {dataset.pace.failed_last_hour:,}"
    )
    if dataset.replicas > 1:
        yield f"{indent}  {dataset.samples:,} samples, {dataset.replicas} answers each"
    for hold in dataset.holds:
        held = f"HELD by {hold.kind} since {wording.moment(hold.since_ms)}: {one_line(hold.reason)}"
        yield f"{indent}  {held if hold.kind == 'person' else red.format(held)}"
    mismatch = wording.mismatch(tally)
    if mismatch is not None:
        yield f"{indent}  MISMATCH: {mismatch}"
