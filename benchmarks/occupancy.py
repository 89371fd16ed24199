"""B. Whether a worker keeps the slots of a server busy: 256 of them, answers of 2 s (log-normal, sigma 0.6).

Counted from the moment when all slots are busy for the first time until only as many jobs are left as there are
slots. Within that time the worker is replaced once as docs/how-to/run-as-a-service.md says: its successor is started,
and when that has its requests open, the first one is told to drain. The worker has as many requests open as the server
has slots, so nothing waits at the server to hide a gap.

The same then in a store of three million jobs, beside exports, one after the other, and open tabs of the dashboard.
"""

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.large_store import large_store
from benchmarks.pages import open_tabs
from benchmarks.scale import Scale
from tests.support.dashboard import dashboard
from tests.support.forks import COMMAND
from tests.support.product import Product
from tests.support.simulator import Simulator

LATENCY = "lognormal:2,0.6"
TABS = 20
DONE = "SELECT count(*) FROM job JOIN dataset ON dataset.id = dataset_id WHERE name = 'data' AND state = 'done'"


@dataclass(frozen=True, slots=True)
class Moment:
    """What the simulator has counted up to a moment."""

    at_s: float
    busy_slot_s: float
    answers: int
    busy: int
    queued: int


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Busy slots of all, without and with a restart; and how many fewer in a large store beside other work."""
    prompts = running.prompts_file(folder, scale.occupancy_jobs)
    product = running.imported(folder / "store", prompts)
    steady, restarted = (
        _course(running.copied(product, folder / f"{restart}"), scale, restart=restart) for restart in (False, True)
    )
    large = _large(scale, folder / "large", prompts)
    with _beside_others(large) as exports:
        loaded = _course(large, scale, restart=True)
    filled = f"{steady.filling_s:.1f} s from the first request to all {scale.slots} slots"
    said = f"{loaded.busy:.1f} % beside {TABS} tabs and {len(exports)} exports of {exports[0] >> 20} MB"
    lost = restarted.busy - loaded.busy
    return [
        Figure("B", "busy slots of a server, one worker", steady.busy, 99, "%", at_least=True, note=filled),
        Figure("B", "the same, the worker restarted once", restarted.busy, 99, "%", at_least=True),
        Figure("B", f"lost of it in a store of {scale.large_store:,} jobs", lost, 0.5, "%", note=said),
    ]


def _large(scale: Scale, folder: Path, prompts: Path) -> Product:
    """The prompts in a dataset of a large store."""
    folder.mkdir()
    product = Product(folder)
    shutil.copy(large_store(scale.large_store, scale.held), product.db)
    product.run("import", "data", str(prompts))
    return product


@contextmanager
def _beside_others(product: Product) -> Iterator[list[int]]:
    """Open tabs, and an export at any time; the sizes of the exports that came to their end."""
    sizes: list[int] = []
    with (
        dashboard(product.folder, "--no-auth", db=str(product.db)) as shown,
        open_tabs(shown, TABS),
        running.beside([partial(_export_again, product, sizes)]),
    ):
        yield sizes


def _export_again(product: Product, sizes: list[int], over: Event) -> None:
    file = product.folder / "answered.jsonl"
    while not over.is_set():
        command = [*COMMAND, "export", "--dataset", "answered", "--overwrite", "-o", str(file)]
        running.Running(command, product.folder).wait()
        sizes.append(file.stat().st_size)


@dataclass(frozen=True, slots=True)
class Course:
    """How a run went."""

    busy: float  # slots, of 100
    filling_s: float  # from the first request until all slots were busy


def _course(product: Product, scale: Scale, *, restart: bool) -> Course:
    slots = scale.slots
    about = ("--dataset", "data", "--concurrency", str(slots))
    with Simulator("--latency", LATENCY, "--slots", str(slots), "--answer-bytes", "2048") as simulator:
        workers = [running.worker(product, simulator.url, *about)]
        begun = _when(simulator, workers, lambda now: now.busy > 0)
        first = _when(simulator, workers, lambda now: now.busy == slots)
        if restart:
            _when(simulator, workers, lambda now: now.answers >= scale.occupancy_jobs // 3)
            workers.append(running.worker(product, simulator.url, *about))
            _when(simulator, workers, lambda now: now.queued >= slots * 3 // 4)
            workers[0].process.send_signal(signal.SIGTERM)
        last = _when(simulator, workers[-1:], lambda now: now.answers >= scale.occupancy_jobs - slots)
        workers.pop().wait()
        for told in workers:
            told.wait(code=128 + signal.SIGTERM)
    assert product.value(DONE) == scale.occupancy_jobs
    share = (last.busy_slot_s - first.busy_slot_s) / (last.at_s - first.at_s) / slots
    return Course(100 * share, first.at_s - begun.at_s)


def _when(simulator: Simulator, workers: Sequence[running.Running], holds: Callable[[Moment], bool]) -> Moment:
    """The first look at which something holds. A worker that ends before is an error: then it may never hold."""
    while True:
        stats = simulator.stats()
        now = Moment(stats["seconds"], stats["busy_slot_seconds"], stats["answers"], stats["busy"], stats["queued"])
        if holds(now):
            return now
        ended = [worker for worker in workers if worker.has_ended()]
        if ended:
            raise RuntimeError(f"a worker ended early: {ended[0].log.read_text(errors='replace')}")
        time.sleep(0.05)
