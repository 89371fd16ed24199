"""The sums that pages show beside the counters, counted anew: triage, lengths, latencies, failures, what
workers brought."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.model.bins import bin_of, latency_bin_of
from app.model.states import JobState
from app.verify.findings import RECOUNT, Finding

MINUTE_MS = 60_000
Key = tuple[int | str, ...]  # the columns that a sum is kept by, in their order


@dataclass(slots=True)
class PageSums:
    """The sums of one pass over all jobs, responses and failures; a few numbers a dataset, worker and minute."""

    cells: Counter[Key] = field(default_factory=Counter)  # dataset, finish reason, found
    lengths: Counter[Key] = field(default_factory=Counter)  # dataset, least length
    latencies: Counter[Key] = field(default_factory=Counter)  # dataset, least latency
    took_ms: Counter[Key] = field(default_factory=Counter)  # the same: their sum
    bodies: Counter[Key] = field(default_factory=Counter)  # worker, minute
    failed: Counter[Key] = field(default_factory=Counter)  # worker, minute
    groups: Counter[Key] = field(default_factory=Counter)  # failure group

    def job(self, row: Any) -> None:
        """Count one job."""
        if row.state != JobState.DONE:
            return
        if row.found is not None and row.finish_reason is not None:
            self.cells[row.dataset_id, row.finish_reason, row.found] += 1
        if row.reasoning_chars is not None and row.reasoning_chars > 0:
            self.lengths[row.dataset_id, bin_of(row.reasoning_chars)] += 1

    def response(self, row: Any) -> None:
        """Count one stored body."""
        if row.worker_id is None:
            return
        self.bodies[row.worker_id, row.received_ms // MINUTE_MS] += 1
        if row.requested_ms is not None and row.dataset_id is not None:
            took_ms = max(0, row.received_ms - row.requested_ms)
            key = row.dataset_id, latency_bin_of(took_ms)
            self.latencies[key] += 1
            self.took_ms[key] += took_ms

    def failure(self, row: Any) -> None:
        """Count one failed attempt."""
        if row.worker_id is not None:
            self.failed[row.worker_id, row.at_ms // MINUTE_MS] += 1
        if row.group_id is not None:
            self.groups[(row.group_id,)] += 1


def compare_cells(sums: PageSums, stored: Iterable[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Cells of the triage matrix that say something else than the jobs."""
    said: Counter[Key] = Counter({(row.dataset_id, row.finish_reason, row.found): row.n for row in stored})
    for (dataset, finish, found), one, other in _differ(said, sums.cells):
        where = f"the triage cell of {finish!r} and {found}"
        yield _finding(where, one, other, _dataset(names, dataset))


def compare_lengths(sums: PageSums, stored: Iterable[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Bins of the histogram that say something else than the jobs."""
    said: Counter[Key] = Counter({(row.dataset_id, row.least): row.n for row in stored})
    for (dataset, least), one, other in _differ(said, sums.lengths):
        yield _finding(f"the bin of reasoning lengths from {least:,} on", one, other, _dataset(names, dataset))


def compare_latencies(sums: PageSums, stored: Iterable[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Bins of latencies that say something else than the responses."""
    rows = list(stored)
    for word, column, counted in (("", "n", sums.latencies), (" in milliseconds", "sum_ms", sums.took_ms)):
        said: Counter[Key] = Counter({(row.dataset_id, row.least_ms): getattr(row, column) for row in rows})
        for (dataset, least), one, other in _differ(said, counted):
            yield _finding(f"the bin of latencies from {least:,} ms on{word}", one, other, _dataset(names, dataset))


def compare_groups(sums: PageSums, stored: Iterable[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Groups of failed attempts that say something else than the attempts."""
    rows: dict[Key, Any] = {(row.id,): row for row in stored}
    said = Counter({key: row.attempts for key, row in rows.items()})
    for key, one, other in _differ(said, sums.groups):
        row = rows.get(key)
        about = f"failure group {key[0]}" if row is None else f"the failures by {row.cause} ({row.message!r})"
        yield _finding(about, one, other, None if row is None else _dataset(names, row.dataset_id))


def compare_brought(sums: PageSums, stored: Iterable[Any]) -> Iterator[Finding]:
    """Minutes of workers that say something else than what they brought."""
    rows = list(stored)
    for word, counted in (("bodies", sums.bodies), ("failed", sums.failed)):
        said: Counter[Key] = Counter({(row.worker_id, row.minute): getattr(row, word) for row in rows})
        for (worker, minute), one, other in _differ(said, counted):
            yield _finding(f"minute {minute} of worker {worker}, {word},", one, other, None)


def _differ(said: Counter[Key], counted: Counter[Key]) -> Iterator[tuple[Key, int, int]]:
    """A sum that is not there says 0, and so does one of nothing."""
    for key in sorted(said.keys() | counted.keys(), key=str):
        if said[key] != counted[key]:
            yield key, said[key], counted[key]


def _finding(where: str, said: int, counted: int, dataset: str | None) -> Finding:
    return Finding(f"{where} says {said:,}, and {counted:,} are there", RECOUNT, dataset)


def _dataset(names: Mapping[int, str], dataset: int | str) -> str:
    return names.get(int(dataset), f"dataset {dataset}")
