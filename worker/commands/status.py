"""`thinkledger status`: the Overview in text, from the same function as the page."""

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context, layout
from worker.importing import importing

if TYPE_CHECKING:
    from app.progress.overview import Alarm, DatasetProgress, OpenWorker, Overview, Pace, Tally
    from app.store.store import Store

WATCH_SECONDS = 2.0
_CLEAR = "\x1b[H\x1b[2J"
_RED = "\x1b[31m{}\x1b[0m"


HELP = """Show how far each dataset is: progress, capture, rate, ETA, holds and workers.

With --check one line for each thing that needs a person, and an exit code for monitoring: 0 nothing, 8 a damaged store
or sums that differ, 7 reasoning lost or a dataset held for it, 9 disk, 5 server, worker or evaluation, 6 the rest.
"""


def register(app: typer.Typer) -> None:
    app.command("status", help=HELP)(status)


def status(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One dataset; all without it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every two seconds until interrupted.")] = False,
    check: Annotated[bool, typer.Option("--check", help="For monitoring: exit by the worst that stands.")] = False,
) -> None:
    """Print the Overview once, or again and again."""
    settings = cli_context.context(ctx)
    if check and watch:
        raise UsageError("--check and --watch exclude each other.")

    async def command() -> Exit:
        with importing():
            from app.progress.gathering import overview
            from app.store.store import open_store

        async with open_store(settings.db) as store:
            if check:
                return await _check(store, name, as_json=as_json)
            await _show(await overview(store, name), as_json=as_json, clear=False)
            while watch:
                import anyio

                await anyio.sleep(WATCH_SECONDS)
                await _show(await overview(store, name), as_json=as_json, clear=sys.stdout.isatty())
        return Exit.DONE

    cli_context.run(command)


async def _check(store: "Store", name: str | None, *, as_json: bool) -> Exit:
    """What stands, one line each, and the code of the worst."""
    from app.progress.alerts import evaluation_of
    from app.progress.checking import exit_of, troubles
    from app.progress.display import one_line
    from app.progress.gathering import read_overview
    from app.progress.statements_workers import evaluator

    now_ms = store.now_ms()
    async with store.snapshot() as reads:
        evaluation = evaluation_of(await reads.first(evaluator()), now_ms)
        found = await read_overview(reads, store, now_ms, name)
    wrong = troubles(found, evaluation)
    if as_json:
        told = [{"exit": int(t.exit), "kind": t.kind, "dataset": t.dataset, "message": t.message} for t in wrong]
        cli_context.put_json({"as_of": found.as_of_ms, "seq": found.seq, "exit": int(exit_of(wrong)), "data": told})
    else:
        for one in wrong:
            about = f" {one.dataset}" if one.dataset else ""
            cli_context.put(one_line(f"{one.exit.name.lower()} {one.kind}{about}: {one.message}"))
        if not wrong:
            cli_context.put("ok")
    return exit_of(wrong)


async def _show(overview: "Overview", *, as_json: bool, clear: bool) -> None:
    if as_json:
        from app.progress.as_json import overview_json

        cli_context.put_json({"as_of": overview.as_of_ms, "seq": overview.seq, "data": overview_json(overview)})
        return
    red = _RED if sys.stdout.isatty() and "NO_COLOR" not in os.environ else "{}"
    text = "\n".join(lines(overview, red, layout.columns()))
    cli_context.put(f"{_CLEAR}{text}" if clear else text)


def lines(overview: "Overview", red: str = "{}", width: int | None = None) -> Iterator[str]:
    """The Overview, line by line; `red` is how a line that needs a person is shown, `width` what a line may have."""
    from app.progress import wording
    from app.progress.display import one_line

    names = max((len(dataset.name) for dataset in overview.datasets), default=0)
    for dataset in overview.datasets:
        yield from _dataset(dataset, names, red, width)
    if not overview.datasets:
        yield from layout.sentence("No dataset yet. Make one with `thinkledger import NAME FILE`.", width)
    if len(overview.datasets) > 1:
        yield ""
        yield from _beside("all", names, _how_far(overview.total, overview.pace), width)
    yield ""
    for alarm in overview.warnings:
        yield from map(red.format, layout.sentence(_alarm(alarm, overview), width, indent="  "))
    if (unsent := wording.webhook(overview.untold)) is not None:
        yield from map(red.format, layout.sentence(one_line(unsent), width, indent="  "))
    for told in wording.spool(overview.spool):
        yield from map(red.format, layout.facts([one_line(told)], width, "spool    ", "  "))
    yield from layout.facts([wording.workers(overview.workers)], width, "workers  ", "  ")
    for worker in overview.workers.open:
        yield from layout.facts(_worker(worker, overview.as_of_ms), width, "  ", "    ")
    yield from layout.facts([wording.endpoints(overview.endpoints)], width, "servers  ", "  ")
    for one in overview.endpoints.asked:
        said = layout.facts([one_line(one.base_url), one_line(wording.endpoint(one))], width, "  ", "    ")
        yield from said if one.reason is None else map(red.format, said)
    low = ["LOW: nothing new is asked"] if overview.disk_low else []
    needed = wording.need(overview.need) + (" on the server" if overview.on_server else "")
    disk = [wording.free(overview.disk_free, on_server=overview.on_server), needed, *low]
    shown = layout.facts(disk, width, "disk     ", "  ")
    yield from map(red.format, shown) if low else shown
    as_of = wording.moment(overview.as_of_ms)
    store = [wording.size(overview.store_bytes), f"seq {overview.seq:,}", f"as of {as_of}", _backup(overview)]
    yield from layout.facts(store, width, "store    ", "  ")


def _backup(overview: "Overview") -> str:
    from app.progress import wording

    if overview.on_server or overview.backup_ms is None:
        return wording.last_backup(None, on_server=overview.on_server)
    return f"backup {wording.age(overview.as_of_ms - overview.backup_ms)} old"


def _beside(name: str, names: int, parts: list[str], width: int | None) -> Iterator[str]:
    """Facts beside a name, or under it where names leave no room for them."""
    if width is None or names + 2 <= width // 3:
        yield from layout.facts(parts, width, f"{name:{names}}  ", " " * (names + 2))
        return
    yield name
    yield from layout.facts(parts, width, "  ", "  ")


def _how_far(tally: "Tally", pace: "Pace") -> list[str]:
    """`2,900/10,000 29.0 %  cap 2,871/2,888 99.4 %  118 /h  902 tok/s  ETA 2 d 12 h`"""
    from app.progress import wording

    done, captured = tally.progress, tally.capture
    speed = [wording.pace_per_hour(pace), wording.pace_tokens(pace)]
    parts = [f"{done} {done.percent}", f"cap {captured} {captured.percent}", *speed, f"ETA {wording.eta(pace.eta)}"]
    return [part for part in parts if part]


def _worker(worker: "OpenWorker", now_ms: int) -> list[str]:
    """`gpu-1  live  64 slots  beat 3 s ago  pid 4242 on host`"""
    from app.progress import wording
    from app.progress.display import one_line

    beat = wording.age(now_ms - worker.heartbeat_ms)
    state = f"{worker.liveness}{', draining' if worker.draining else ''}"
    place = f"pid {worker.pid} on {one_line(worker.host)}"
    return [one_line(worker.name), f"id {worker.id}", state, f"{worker.slots:,} slots", f"beat {beat} ago", place]


def _alarm(alarm: "Alarm", overview: "Overview") -> str:
    """`ALARM lost_any B1_glaive since ...: 19 of 2,888 answers ... [numbers of ...; now 2,869/2,888 captured ...]`"""
    from app.progress import wording
    from app.progress.display import one_line
    from app.progress.present import present

    about = f" {alarm.dataset}" if alarm.dataset else ""
    said = f"ALARM {alarm.kind}{about} since {wording.moment(alarm.since_ms)}: {one_line(alarm.message)}"
    figures = present(alarm.kind, alarm.dataset, overview)
    return f"{said} [numbers of {wording.moment(alarm.last_ms)}{f'; now {figures}' if figures else ''}]"


def _dataset(dataset: "DatasetProgress", names: int, red: str, width: int | None) -> Iterator[str]:
    from app.progress import wording
    from app.progress.display import one_line

    tally = dataset.tally
    yield from _beside(dataset.name, names, _how_far(tally, dataset.pace), width)
    indent = " " * (names + 2 if width is None or names + 2 <= width // 3 else 2)
    yield from layout.facts(wording.states(tally).split("  "), width, indent, indent)
    losses = [
        f"missing {tally.missing:,}",
        f"leaked {tally.leaked:,}",
        f"truncated {tally.truncated} {tally.truncated.percent}",
        f"late answers {tally.late:,}",
        f"failed in 1 h {dataset.pace.failed_last_hour:,}",
    ]
    yield from layout.facts(losses, width, indent, indent)
    if tally.turns.whole:
        yield from layout.facts([wording.turns(tally)], width, indent, indent)
    if dataset.replicas > 1:
        yield from layout.facts([f"{dataset.samples:,} samples", f"{dataset.replicas} answers each"], width, indent)
    for hold in dataset.holds:
        held = f"HELD by {hold.kind} since {wording.moment(hold.since_ms)}: {one_line(hold.reason)}"
        colour = "{}" if hold.kind == "person" else red
        yield from map(colour.format, layout.sentence(held, width, indent, indent))
    mismatch = wording.mismatch(tally)
    if mismatch is not None:
        yield from layout.sentence(f"MISMATCH: {mismatch}", width, indent, indent)
