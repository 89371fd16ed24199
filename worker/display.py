"""What a person sees while the worker runs: a line a dataset at a terminal, a log line a minute elsewhere."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio

from app.model.states import JobState
from app.progress import wording
from app.progress.gathering import overview
from app.progress.overview import DatasetProgress, Overview
from app.store.store import Store
from worker.log import Log
from worker.spooling import TROUBLE

if TYPE_CHECKING:
    from rich.console import Group

LIVE_EVERY_S = 1.0
LINE_EVERY_S = 60.0
WIDE = 110  # columns from which there is room for bars


async def show(store: Store, live: bool, log: Log) -> None:
    """Until cancelled."""
    if live:
        await _show_live(store)
    else:
        await _log_lines(store, log)


async def tell_end(store: Store, wanted: frozenset[str] | None, log: Log) -> None:
    """The last word of a run: how far each dataset is, as a warning where reasoning was lost or jobs failed."""
    for dataset in (await overview(store)).datasets:
        if wanted is None or dataset.name in wanted:
            tell = log.warning if dataset.tally.lost or dataset.tally.state(JobState.FAILED) else log.info
            tell("so_far", dataset=dataset.name, says=line(dataset))


async def _log_lines(store: Store, log: Log) -> None:
    while True:
        await anyio.sleep(LINE_EVERY_S)
        with suppress(*TROUBLE):  # the writer tells it
            for dataset in (await overview(store)).datasets:
                log.info("progress", dataset=dataset.name, says=line(dataset))


async def _show_live(store: Store) -> None:
    """The bars; log lines printed meanwhile scroll above them."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, redirect_stdout=False) as bars:
        try:
            while True:
                with suppress(*TROUBLE):
                    bars.update(_table(await overview(store), console.width >= WIDE), refresh=True)
                await anyio.sleep(LIVE_EVERY_S)
        finally:
            with anyio.CancelScope(shield=True), suppress(*TROUBLE):
                bars.update(_table(await overview(store), console.width >= WIDE), refresh=True)


def _table(now: Overview, wide: bool) -> Group:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for dataset in now.datasets:
        tally = dataset.tally
        bar = [ProgressBar(total=max(1, tally.total), completed=tally.progress.part, width=24)] if wide else []
        grid.add_row(Text(dataset.name, no_wrap=True), *bar, Text(line(dataset), no_wrap=True, overflow="ellipsis"))
    at = datetime.fromtimestamp(now.as_of_ms / 1000, UTC).strftime("%H:%M:%S UTC")
    leased = f"leased {now.total.state(JobState.LEASED):,}"
    return Group(grid, Text(f"{leased}  workers {wording.workers(now.workers)}  {at}", style="dim", no_wrap=True))


def line(dataset: DatasetProgress) -> str:
    """`2,900/10,000 29.0 %  cap 2,871/2,888 99.4 %  118 /h  902 tok/s  ETA 2 d 12 h`"""
    tally = dataset.tally
    return "  ".join(
        [
            f"{tally.progress} {tally.progress.percent}",
            *([f"turns {tally.turns}"] if tally.turns.whole else []),
            f"cap {tally.capture} {tally.capture.percent}",
            wording.pace(dataset.pace),
            _outlook(dataset),
        ]
    )


def _outlook(dataset: DatasetProgress) -> str:
    held = ", ".join(f"HELD by {hold.kind}: {hold.reason}" for hold in dataset.holds)
    failed = dataset.tally.state(JobState.FAILED)
    words = [held or f"ETA {wording.eta(dataset.pace.eta)}", f"failed {failed:,}" if failed else ""]
    return "  ".join(word for word in words if word)
