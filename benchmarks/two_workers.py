"""L. CPU a job with two workers on one store against one worker; neither with its start."""

from itertools import count
from pathlib import Path

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.measuring import Spent, in_turn, ratio
from benchmarks.plain_loop import IN_FLIGHT
from benchmarks.scale import Scale
from benchmarks.whole_worker import ANSWER, ours_with
from tests.support.simulator import Simulator

ROUNDS = 3


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """Both until the same store is empty."""
    product = running.imported(folder / "store", running.prompts_file(folder, scale.requests))
    places = (folder / f"{number}" for number in count())
    with Simulator(*ANSWER) as simulator:

        def two() -> Spent:
            copy = running.copied(product, next(places))
            both = [running.worker(copy, simulator.url) for _ in range(2)]
            taken = [one.wait() for one in both]
            assert copy.count("done") == scale.requests
            return Spent(sum(one.cpu_s for one in taken), max(one.wall_s for one in taken))

        one = ours_with(product, simulator.url, places)
        start, alone, shared = in_turn(ROUNDS, lambda: one(IN_FLIGHT), lambda: one(scale.requests), two)
    beyond = scale.requests - IN_FLIGHT
    of_one = [(all_.cpu_s - some.cpu_s) / beyond for all_, some in zip(alone, start, strict=True)]
    of_two = [(all_.cpu_s - 2 * some.cpu_s) / (beyond - IN_FLIGHT) for all_, some in zip(shared, start, strict=True)]
    note = "{:.2f} against {:.2f} ms a job".format(*(1000 * sorted(side)[ROUNDS // 2] for side in (of_two, of_one)))
    return [Figure("L", "two workers on one store, CPU a job against one", ratio(of_two, of_one), 1.15, note=note)]
