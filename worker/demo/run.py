"""The main job from end to end, against the simulator."""

from dataclasses import dataclass
from pathlib import Path

from app.export.exporting import Report, export_dataset
from app.export.request import ExportRequest
from app.model.exits import Exit
from app.progress.gathering import overview
from app.progress.overview import Overview
from app.store.store import open_store
from worker.demo.stage import DATASETS, simulator
from worker.log import Log
from worker.supervisor import WorkerSettings, run_worker


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """How the demonstration runs. `latency` and `slots` are the simulator's."""

    folder: Path
    store: Path  # with the prompts in it
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
    """Simulator up, everything asked, B1_glaive out. The prompts are in the store already."""
    store = settings.store
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
