"""K. What commands take before they do anything: CPU seconds of a process, the least of some starts.

The least, since whatever else runs on the machine can only add.
"""

import time
from itertools import count
from pathlib import Path

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.scale import Scale
from tests.support.product import Product
from tests.support.simulator import Simulator

STARTS = 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """`--help`, `status`, and a worker until its first request."""
    product = running.imported(folder / "store", running.prompts_file(folder, 10))
    places = (folder / f"{number}" for number in count())
    with Simulator("--latency", "fixed:60") as simulator:
        to_first = min(_to_first(running.copied(product, next(places)), simulator) for _ in range(STARTS))
    return [
        Figure("K", "start-up: --help", _least(product, "--help"), 0.25, "s"),
        Figure("K", "start-up: status", _least(product, "status"), 0.6, "s"),
        Figure("K", "start-up: worker to its first request", to_first, 2, "s"),
    ]


def _least(product: Product, *command: str) -> float:
    return min(running.Running([*running.COMMAND, *command], product.folder).wait().cpu_s for _ in range(STARTS))


def _to_first(product: Product, simulator: Simulator) -> float:
    asked = simulator.stats()["requests"]
    started = running.worker(product, simulator.url)
    while simulator.stats()["requests"] == asked:
        assert not started.has_ended()
        time.sleep(0.02)  # what is waited for is another process
    taken = started.cpu_s()
    started.process.kill()
    started.process.wait()
    return taken
