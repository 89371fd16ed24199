"""Which experiments there are, by the letter of their figures in the table."""

import importlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.scale import Scale

NAMES = {
    "C": "store_cycle",
    "C2": "queues",
    "D": "claims",
    "E": "overviews",
    "F": "imports",
    "G": "exports",
    "H": "reparses",
    "I": "completions",
    "A": "whole_worker",
    "A2": "clients",
    "K": "start_up",
    "L": "two_workers",
    "J": "event_loop",
    "B": "occupancy",
    "P": "hostile_bodies",
    "S": "scrapes",
    "PG1": "server_claims",
    "PG2": "server_completions",
}
BY_NAME_ALONE = ("PG1", "PG2")  # these need PostgreSQL, and six minutes


def measure_of(name: str) -> Callable[[Scale, Path], list[Figure]]:
    """The function that measures an experiment. Imported only now: none may weigh on another one's memory."""
    measure: Callable[[Scale, Path], list[Figure]] = importlib.import_module(f"benchmarks.{NAMES[name]}").measure
    return measure
