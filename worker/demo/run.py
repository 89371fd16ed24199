"""The main job from end to end, against the simulator."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.streams.text import TextReceiveStream

from app.export.exporting import Report, export_dataset
from app.export.request import ExportRequest
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.model.errors import ThinkledgerError
from app.model.exits import Exit
from app.progress.gathering import overview
from app.progress.overview import Overview
from app.store.store import open_store
from worker.log import Log
from worker.supervisor import WorkerSettings, run_worker

PROMPTS = Path(__file__).parent / "prompts"
DATASETS = ("B1_glaive", "OpenCodeInstruct", "UltraChat")


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """How the demonstration runs. `latency` and `slots` are the simulator's."""

    folder: Path
    latency: str = "lognormal:0.5,0.6"
    slots: int = 16
    live_progress: bool = False


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What it came to."""

    code: Exit
    store: Path
    output: Path
    report: Report
    now: Overview


async def run_demo(settings: DemoSettings, log: Log) -> DemoResult:
    """Simulator up, prompts in, everything asked, B1_glaive out."""
    store = settings.folder / "thinkledger.db"
    await import_prompts(store)
    async with simulator(settings.latency, settings.slots) as url:
        worker = WorkerSettings(
            db=str(store),
            endpoints=(url,),
            concurrency=settings.slots,
            until_empty=True,
            live_progress=settings.live_progress,
        )
        code = await run_worker(worker, log)
    output = settings.folder / f"{DATASETS[0]}.jsonl"
    async with open_store(str(store)) as opened:
        report = await export_dataset(opened, ExportRequest(DATASETS[0], output))
        return DemoResult(code, store, output, report, await overview(opened))


async def import_prompts(store: Path) -> None:
    """The bundled datasets into a new store."""
    async with open_store(str(store), create=True) as opened:
        for name in DATASETS:
            request = ImportRequest(dataset=name, path=str(PROMPTS / f"{name}.jsonl"))
            await import_file(opened, request, lambda _progress: None)


@asynccontextmanager
async def simulator(latency: str, slots: int) -> AsyncIterator[str]:
    """A simulator in a process of its own; its URL."""
    command = [sys.executable, "-m", "worker.simulator", "--port", "0", "--latency", latency, "--slots", str(slots)]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL, env=dict(os.environ)) as process:
        try:
            assert process.stdout is not None
            line = await anext(aiter(TextReceiveStream(process.stdout)), "")
            if "http://" not in line:
                raise ThinkledgerError("The simulator did not start. `python -m worker.simulator` shows why.")
            yield line[line.index("http://") :].strip()
        finally:
            process.terminate()
