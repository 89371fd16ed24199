"""`thinkledger demo`: the whole product in one command, without a GPU."""

from __future__ import annotations

import importlib
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.exits import Exit
from worker import cli_context
from worker.importing import importing

if TYPE_CHECKING:
    from app.web.serving import Running
    from worker.demo.run import DemoResult

FIRST_ROW_CHARS = 600


def register(app: typer.Typer) -> None:
    app.command("demo", help=HELP)(demo)


HELP = """See the main job run: simulator, bundled prompts, worker, dashboard and export. Needs no GPU.

In a terminal the dashboard stays up afterwards until Ctrl-C. With --exit, or where no terminal is, the export ends it.
"""


def demo(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Option("--dir", metavar="FOLDER", help="Where each run gets a folder of its own.")
    ] = Path("demo"),
    ends: Annotated[bool, typer.Option("--exit", help="End after the export.")] = False,
) -> None:
    """Ask three small datasets of a simulated server and export one."""
    shared = cli_context.context(ctx)
    stays = not ends and sys.stdin.isatty() and sys.stderr.isatty()
    cli_context.run(lambda: _demo(folder, shared, stays=stays))


async def _demo(folder: Path, shared: cli_context.Globals, *, stays: bool) -> Exit:
    with importing():
        from anyio import to_thread

        from app.store.store import open_store
        from worker.demo.stage import DATASETS, dashboard, import_prompts

    here = folder / time.strftime("run-%Y%m%d-%H%M%S")
    here.mkdir(parents=True)
    cli_context.say(
        f"130 prompts of {', '.join(DATASETS)} are asked of a simulated server (no GPU, invented answers).\n"
    )
    log = cli_context.log_of(shared, quiet=shared.verbosity <= 0)
    path = here / "thinkledger.db"
    await import_prompts(path)
    async with open_store(str(path)) as store, dashboard(store, _tell):
        await to_thread.run_sync(_import_worker)  # half a second, in which the page answers
        from worker.demo.run import DemoSettings, run_demo

        result = await run_demo(DemoSettings(here, path, live_progress=shared.live_progress), log)
        _show(result)
        if stays and result.code not in (Exit.INTERRUPTED, Exit.TERMINATED):
            await _wait_for_person()
    return result.code


def _import_worker() -> None:
    with importing():
        importlib.import_module("worker.demo.run")


def _tell(running: Running) -> None:
    cli_context.say(f"Watch it: {running.login}\n")


async def _wait_for_person() -> None:
    """Until Ctrl-C or SIGTERM: an orderly end of something that has succeeded."""
    import anyio

    cli_context.say("The dashboard stays up. Ctrl-C ends it.")
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        await anext(aiter(signals))


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
