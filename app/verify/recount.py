"""Jobs and late answers counted anew, and held against what the triggers counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.model.loss_flags import loaded
from app.model.states import JobState
from app.model.verdicts import CAPTURED, Verdict
from app.verify.findings import RECOUNT, Finding

MINUTE_MS = 60_000
FAMILIES = ("state:", "expected:", "unexpected:", "failed:", "flag:", "late", "tokens", "turns")
GRADED = CAPTURED | {Verdict.MISSING, Verdict.LEAKED}
COLUMNS = ("done", "failed", "graded", "captured", "tokens")
Minute = tuple[int, ...]  # the columns of a bucket, in their order


@dataclass(slots=True)
class Recount:
    """The sums of one pass over all jobs and responses; a few numbers a dataset and minute."""

    metrics: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    minutes: dict[int, dict[int, Minute]] = field(default_factory=lambda: defaultdict(dict))
    ordinals: Counter[int] = field(default_factory=Counter)  # the last place of each dataset
    replicas: Counter[int] = field(default_factory=Counter)

    def job(self, row: Any) -> None:
        """Count one job."""
        metrics = self.metrics[row.dataset_id]
        metrics[f"state:{row.state}"] += 1
        self.ordinals[row.dataset_id] = max(self.ordinals[row.dataset_id], row.ordinal)
        self.replicas[row.dataset_id] = max(self.replicas[row.dataset_id], row.replica + 1)
        if row.turns > 1:
            metrics["turns"] += row.turns
            metrics["turns_answered"] += row.turn
        if row.state == JobState.DONE:
            metrics[f"{'expected' if row.expected == 1 else 'unexpected'}:{row.verdict}"] += 1
            metrics["tokens"] += max(0, row.completion_tokens or 0)
            metrics.update(f"flag:{flag}" for flag in loaded(row.loss_flags))
        if row.state == JobState.FAILED:
            metrics[f"failed:{row.cause}"] += 1
        if row.state == JobState.FAILED or (row.state == JobState.DONE and not row.imported):
            self._minute(row)

    def late(self, dataset: int) -> None:
        """Count one answer that came too late."""
        self.metrics[dataset]["late"] += 1

    def _minute(self, row: Any) -> None:
        minutes, at = self.minutes[row.dataset_id], row.finished_ms // MINUTE_MS
        done = row.state == JobState.DONE
        more = (
            int(done),
            int(not done),
            int(done and row.expected == 1 and row.verdict in GRADED),
            int(done and row.expected == 1 and row.verdict in CAPTURED),
            (row.completion_tokens or 0) if done else 0,
        )
        known = minutes.get(at, (0,) * len(COLUMNS))
        minutes[at] = tuple(one + other for one, other in zip(known, more, strict=True))


def compare_counters(counted: Recount, stored: Sequence[Any], names: Mapping[int, str]) -> Iterator[Finding]:
    """Counters that say something else than the jobs."""
    kept: dict[int, dict[str, int]] = defaultdict(dict)
    for row in stored:
        kept[row.dataset_id][row.metric] = row.n
    for dataset in sorted(kept.keys() | counted.metrics.keys()):
        metrics = counted.metrics[dataset]
        for metric in sorted(kept[dataset].keys() | metrics.keys()):
            found, said = metrics[metric], kept[dataset].get(metric, 0)
            if found != said and metric.startswith(FAMILIES):
                what = f"the counter {metric} says {said:,}, and {found:,} are there"
                yield Finding(what, RECOUNT, _name(names, dataset))


def compare_totals(counted: Recount, names: Mapping[int, str]) -> Iterator[Finding]:
    """Datasets whose states do not add up to their jobs."""
    for dataset, metrics in sorted(counted.metrics.items()):
        jobs = sum(count for metric, count in metrics.items() if metric.startswith("state:"))
        total = counted.ordinals[dataset] * counted.replicas[dataset]
        if jobs != total:
            yield Finding(f"the states add up to {jobs:,} of {total:,} jobs", RECOUNT, _name(names, dataset))


def compare_minutes(counted: Recount, dataset: int, stored: Iterable[Any], name: str) -> Iterator[Finding]:
    """Minutes of a dataset whose sums say something else than the jobs that were finished in them."""
    minutes = counted.minutes.pop(dataset, {})
    nothing = (0,) * len(COLUMNS)
    for row in stored:
        found, said = minutes.pop(row.minute, nothing), tuple(getattr(row, column) for column in COLUMNS)
        if found != said:
            yield _minute(row.minute, said, found, name)
    for minute, found in sorted(minutes.items()):
        if found != nothing:
            yield _minute(minute, nothing, found, name)


def _minute(minute: int, said: Minute, found: Minute, name: str) -> Finding:
    wrong = [
        f"{column} {one:,}, and {other:,} are there"
        for column, one, other in zip(COLUMNS, said, found, strict=True)
        if one != other
    ]
    return Finding(f"the bucket of minute {minute} says {'; '.join(wrong)}", RECOUNT, name)


def _name(names: Mapping[int, str], dataset: int) -> str:
    return names.get(dataset, f"dataset {dataset}")
