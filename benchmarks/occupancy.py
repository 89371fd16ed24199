"""B. Whether a worker keeps the slots of a server busy: 256 of them, answers of 2 s (log-normal, sigma 0.6).

Counted from the moment when all slots are busy for the first time until only as many jobs are left as there are
slots. Within that time the worker is restarted once as one does it: its successor is started, then it is told to
drain. The worker has as many requests open as the server has slots, so nothing waits at the server to hide a gap.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.scale import Scale
from tests.support.product import Product
from tests.support.simulator import Simulator

LATENCY = "lognormal:2,0.6"


@dataclass(frozen=True, slots=True)
class Moment:
    """What the simulator has counted up to a moment."""

    at_s: float
    busy_slot_s: float
    answers: int
    busy: int
    queued: int


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Busy slots of all, without and with a restart."""
    product = running.imported(folder / "store", running.prompts_file(folder, scale.occupancy_jobs))
    shares = [
        _share(running.copied(product, folder / f"{restart}"), scale, restart=restart) for restart in (False, True)
    ]
    names = ("busy slots of a server, one worker", "the same, the worker restarted once")
    return [Figure("B", name, 100 * share, 99, "%", at_least=True) for name, share in zip(names, shares, strict=True)]


def _share(product: Product, scale: Scale, *, restart: bool) -> float:
    """Busy slot seconds of all slot seconds."""
    slots = scale.slots
    with Simulator("--latency", LATENCY, "--slots", str(slots), "--answer-bytes", "2048") as simulator:
        workers = [running.worker(product, simulator.url, "--concurrency", str(slots))]
        first = _when(simulator, lambda now: now.busy == slots)
        if restart:
            _when(simulator, lambda now: now.answers >= scale.occupancy_jobs // 3)
            workers.append(running.worker(product, simulator.url, "--concurrency", str(slots)))
            _when(simulator, lambda now: now.queued > 0)
            workers[0].process.send_signal(signal.SIGTERM)
        last = _when(simulator, lambda now: now.answers >= scale.occupancy_jobs - slots)
        workers.pop().wait()
        for told in workers:
            told.wait(code=128 + signal.SIGTERM)
    assert product.count("done") == scale.occupancy_jobs
    return (last.busy_slot_s - first.busy_slot_s) / (last.at_s - first.at_s) / slots


def _when(simulator: Simulator, holds: Callable[[Moment], bool]) -> Moment:
    """The first look at which something holds."""
    while True:
        stats = simulator.stats()
        now = Moment(stats["seconds"], stats["busy_slot_seconds"], stats["answers"], stats["busy"], stats["queued"])
        if holds(now):
            return now
        time.sleep(0.05)
