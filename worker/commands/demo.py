"""`thinkledger demo`: the whole product in one command, without a GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from worker.demo.run import DemoResult

FIRST_ROW_CHARS = 600


def register(app: typer.Typer) -> None:
    app.command("demo", help="See the main job run: simulator, bundled prompts, worker and export. Needs no GPU.")(demo)


def demo(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Option("--dir", metavar="FOLDER", help="Where each run gets a folder of its own.")
    ] = Path("demo"),
) -> None:
    """Ask three small datasets of a simulated server and export one."""
    shared = cli_context.context(ctx)
    cli_context.run(lambda: _demo(folder, shared))


async def _demo(folder: Path, shared: cli_context.Globals) -> Exit:
    from worker.demo.run import DATASETS, DemoSettings, run_demo
    from worker.log import Log

    here = folder / time.strftime("run-%Y%m%d-%H%M%S")
    here.mkdir(parents=True)
    cli_context.say(
        f"130 prompts of {', '.join(DATASETS)} are asked of a simulated server (no GPU, invented answers).\n"
    )
    log = Log(shared.log_format == "json", quiet=shared.verbosity <= 0)
    result = await run_demo(DemoSettings(here, live_progress=shared.live_progress), log)
    _show(result)
    return result.code


def _show(result: DemoResult) -> None:
    """Talk on stderr; the path of the file, the result, on stdout."""
    from app.progress.display import one_line

    first = result.output.read_text(encoding="utf-8").partition("\n")[0]
    cut = first if len(first) <= FIRST_ROW_CHARS else first[:FIRST_ROW_CHARS] + f"... ({len(first):,} characters)"
    cli_context.say(f"\nFirst row:\n{one_line(cut)}\n")
    for dataset in result.now.datasets:
        tally = dataset.tally
        cli_context.say(f"{dataset.name:17} {tally.progress} done   captured {tally.capture} ({tally.capture.percent})")
    cli_context.say(f"\n{result.report.written.rows} rows, their manifest beside them:")
    cli_context.put(str(result.output))
    cli_context.say(f"\nLook around: thinkledger --db {result.store} serve")
