"""A. A whole worker, from claim to settled, against a plain loop with the openai client.

The simulator answers at once, 8 KB, to 64 requests in flight; both run until nothing is left, in processes of their
own. A request's CPU is what many requests take beyond what 64 take: neither side's start is in it.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks import running
from benchmarks.figure import Figure
from benchmarks.measuring import Spent, in_turn, ratio
from benchmarks.plain_loop import IN_FLIGHT
from benchmarks.scale import Scale
from tests.support.product import Product
from tests.support.simulator import Simulator

ROUNDS = 3
ANSWER = ("--answer-bytes", "8192")


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a request on both sides."""
    file = running.prompts_file(folder, scale.requests)
    product = running.imported(folder / "store", file)
    places = (folder / f"{number}" for number in count())
    with Simulator(*ANSWER) as simulator:
        ours = ours_with(product, simulator.url, places)
        plain = plain_with(file, simulator.base_url, places)
        taken = in_turn(
            ROUNDS,
            lambda: ours(IN_FLIGHT), lambda: ours(scale.requests), lambda: plain(IN_FLIGHT),
            lambda: plain(scale.requests),
        )  # fmt: skip
    sides = [a_request(taken[0], taken[1], scale.requests), a_request(taken[2], taken[3], scale.requests)]
    return [
        Figure(
            "A", "whole worker, CPU a request against a plain openai loop", ratio(*sides), 0.75,
            note="{:.2f} against {:.2f} ms a request".format(*(1000 * sorted(side)[ROUNDS // 2] for side in sides)),
        ),
        Figure("A", "whole worker, peak memory", max(one.peak_bytes for one in taken[1]) / 2**20, 150, "MB"),
    ]  # fmt: skip


def a_request(few: list[Spent], many: list[Spent], requests: int) -> list[float]:
    """CPU seconds a request, each round."""
    return [(all_.cpu_s - start.cpu_s) / (requests - IN_FLIGHT) for start, all_ in zip(few, many, strict=True)]


def ours_with(product: Product, url: str, places: Iterator[Path]) -> Callable[[int], Spent]:
    """A worker on a copy of the store, for so many requests."""

    def work(requests: int) -> Spent:
        copy = running.copied(product, next(places))
        spent = running.worker(copy, url, "--limit", str(requests)).wait()
        assert copy.count("done") == requests
        return spent

    return work


def plain_with(file: Path, url: str, places: Iterator[Path]) -> Callable[[int], Spent]:
    """The plain loop, for so many requests."""

    def work(requests: int) -> Spent:
        out = next(places)
        command = [sys.executable, "-m", "benchmarks.plain_loop", url, str(file), str(out), str(requests)]
        spent = running.Running(command, file.parent).wait()
        assert len(out.read_bytes().splitlines()) == requests
        return spent

    return work
