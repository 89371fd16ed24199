"""A2. A whole worker against clients of others: the same prompts, the same server, 64 in flight, each resumable.

As in A, a request's CPU is what many requests take beyond what 64 take, so that no side's start is in it.
"""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.measuring import Spent, in_turn, ratio
from benchmarks.peers import python_with
from benchmarks.plain_loop import IN_FLIGHT
from benchmarks.scale import Scale
from benchmarks.whole_worker import ANSWER, ROUNDS, a_request, ours_with
from tests.support.simulator import Simulator

PACKAGES = {
    "curator": ("bespokelabs-curator==0.1.31",),
    # Its extra for inference brings two model servers along; this is what a client needs of it.
    "datatrove": ("datatrove[io]==0.10.1", "aiofiles", "aiosqlite", "httpx"),
}
Work = Callable[[int], Spent]


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a request against the better one of those that can be installed."""
    pythons = {name: found for name, packages in PACKAGES.items() if (found := python_with(name, *packages))}
    if not pythons:
        return []
    file = running.prompts_file(folder, scale.requests)
    product = running.imported(folder / "store", file)
    places = (folder / f"{number}" for number in count())
    with Simulator(*ANSWER) as simulator:
        works: dict[str, Work] = {"ours": ours_with(product, simulator.url, places)}
        works |= {name: _other(name, python, file, simulator.base_url, places) for name, python in pythons.items()}
        orders = [partial(work, many) for work in works.values() for many in (IN_FLIGHT, scale.requests)]
        taken = in_turn(ROUNDS, *orders)
    sides = {
        name: a_request(taken[2 * place], taken[2 * place + 1], scale.requests) for place, name in enumerate(works)
    }
    better = min(pythons, key=lambda name: statistics.median(sides[name]))
    peaks = {name: max(one.peak_bytes for one in taken[2 * place + 1]) for place, name in enumerate(works)}
    return [
        Figure(
            "A2", f"whole worker, CPU a request against the better of {', '.join(pythons)}",
            ratio(sides["ours"], sides[better]), 0.95,
            note=", ".join(f"{name} {1000 * statistics.median(side):.2f} ms" for name, side in sides.items()),
        ),
        Figure(
            "A2", "whole worker, peak memory", peaks["ours"] / 2**20, 150, "MB",
            note=", ".join(f"{name} {peaks[name] / 2**20:.0f} MB" for name in pythons),
        ),
    ]  # fmt: skip


def _other(name: str, python: Path, file: Path, url: str, places: Iterator[Path]) -> Work:
    """Another one's client, for so many requests; it fails where one of them was not answered."""

    def work(requests: int) -> Spent:
        place = str(next(places))
        command = [str(python), "-m", "benchmarks.other_clients", name, url, str(file), place, str(requests)]
        return running.Running(command, file.parent).wait()

    return work
