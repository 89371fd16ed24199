"""The metrics of a store, as a table: name, type, labels, what it says, and how it comes from one moment of the store.

They are read from the store, so that they survive restarts and are the same whoever is asked. What may fall again (a
retry takes a job out of `done`) is a gauge, whatever it counts; only what never falls is a counter. No sample is named.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.progress import metric_sources as read
from app.progress.metric_facts import MetricFacts
from app.progress.metric_sources import Row


class MetricType(StrEnum):
    """What Prometheus may do with it."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One family. `rows` gives its values with their labels; of a histogram `_histogram` is asked instead."""

    name: str
    says: str
    labels: tuple[str, ...]
    rows: Callable[[MetricFacts], Iterable[Row]]
    type: MetricType = MetricType.GAUGE


LATENCY = "thinkledger_answer_latency_seconds"
_DATASET = ("dataset",)
_WORKER = ("worker", "id")
_COUNTER = MetricType.COUNTER

METRICS: tuple[Metric, ...] = (
    Metric("thinkledger_build_info", "Always 1; the versions of the program that answers.",
           ("version", "schema", "parser", "sqlite"), read.build),
    Metric("thinkledger_snapshot_timestamp_seconds", "When the store was read.", (), read.snapshot),
    Metric("thinkledger_store_seq", "Number of the newest transaction that changed rows.", (), read.seq),
    Metric("thinkledger_dataset_jobs", "All jobs of a dataset, by the order of import.", _DATASET, read.jobs),
    Metric("thinkledger_jobs", "Jobs by state; the states of a dataset add up to all its jobs.",
           ("dataset", "state"), read.states),
    Metric("thinkledger_sums_agree", "1 where states and verdicts add up, 0 where they do not.", _DATASET, read.sums),
    Metric("thinkledger_responses", "Done jobs by the verdict of their accepted response, and whether thinking was "
           "expected.", ("dataset", "verdict", "expected"), read.verdicts),
    Metric("thinkledger_captured", "Captured answers: what the capture rate has above its line.", _DATASET,
           read.captured),
    Metric("thinkledger_graded", "Captured, missing and leaked answers: its denominator.", _DATASET, read.graded),
    Metric("thinkledger_capture_ratio", "Captured of graded, from 0 to 1; absent where nothing is graded.", _DATASET,
           read.capture_ratio),
    Metric("thinkledger_late_answers_total", "Answers that were kept without being accepted.", _DATASET, read.late,
           _COUNTER),
    Metric("thinkledger_failed_jobs", "Failed jobs by the cause of their latest failure.", ("dataset", "cause"),
           read.failed),
    Metric("thinkledger_completion_tokens", "Completion tokens of done jobs, as the server counted them.", _DATASET,
           read.tokens),
    Metric("thinkledger_turns", "Turns of conversations: `asked_for` by all samples, `answered` so far.",
           ("dataset", "which"), read.turns),
    Metric(LATENCY, "From sending a request to its whole body, of every body that a worker stored.", _DATASET,
           lambda _: (), MetricType.HISTOGRAM),
    Metric("thinkledger_done_per_hour", "Jobs that are done an hour, as the pages say; absent while measuring.",
           _DATASET, read.per_hour),
    Metric("thinkledger_tokens_per_second", "Completion tokens a second, as the pages say; absent while measuring.",
           _DATASET, read.tokens_per_second),
    Metric("thinkledger_eta_seconds", "Time to the end, `soonest` and `latest`; absent where a word takes its place.",
           ("dataset", "bound"), read.eta),
    Metric("thinkledger_hold", "1 for each reason not to claim from a dataset.", ("dataset", "kind"), read.holds),
    Metric("thinkledger_alarms", "Alarms that stand, by kind and what they are about.",
           ("kind", "dataset", "endpoint", "state", "holds"), read.alarms),
    Metric("thinkledger_alarms_open", "Alarms that no person has seen to: the number in the header of the pages.", (),
           read.alarms_open),
    Metric("thinkledger_alarms_untold", "Of them, those that the webhook did not take when it was tried last.", (),
           read.alarms_untold),
    Metric("thinkledger_evaluation_age_seconds", "Since somebody looked at what time triggers; absent where nobody "
           "ever did.", (), read.evaluation),
    Metric("thinkledger_workers", "Workers by liveness.", ("liveness",), read.workers),
    Metric("thinkledger_worker_heartbeat_age_seconds", "Since the last heartbeat of an open worker.", _WORKER,
           read.heartbeats),
    Metric("thinkledger_worker_slots", "Jobs that an open worker may hold.", _WORKER, read.slots),
    Metric("thinkledger_worker_leases", "Jobs that an open worker holds.", _WORKER, read.leases),
    Metric("thinkledger_worker_oldest_lease_age_seconds", "Since the oldest of them was leased; absent without any.",
           _WORKER, read.lease_ages),
    Metric("thinkledger_endpoint_asking", "Open workers that ask a server.", ("endpoint",), read.asking),
    Metric("thinkledger_endpoint_down", "Of them, those that find it down.", ("endpoint",), read.down),
    Metric("thinkledger_store_bytes", "The store's file, without its WAL.", (), read.store_bytes),
    Metric("thinkledger_wal_bytes", "Its WAL.", (), read.wal_bytes),
    Metric("thinkledger_disk_free_bytes", "Free on the store's disk.", (), read.disk_free),
    Metric("thinkledger_disk_bytes", "All of the store's disk.", (), read.disk_total),
    Metric("thinkledger_disk_needed_bytes", "What the open jobs will need; absent without an answer to go by.", (),
           read.disk_needed),
    Metric("thinkledger_backup_timestamp_seconds", "When the newest backup was made; absent without one.", (),
           read.backup),
    Metric("thinkledger_spool_answers", "Answers in spool files: `waiting` for the store, or `kept` since they match "
           "nothing.", ("which",), read.spool),
    Metric("thinkledger_spool_bytes", "Bytes of those that wait.", (), read.spool_bytes),
)  # fmt: skip


def values(metric: Metric, facts: MetricFacts) -> Iterator[Row]:
    """The values of a metric that is no histogram; equal labels are added up, as Prometheus takes them once only."""
    summed: dict[tuple[str, ...], float] = {}
    for labels, value in metric.rows(facts):
        summed[labels] = summed.get(labels, 0) + value
    yield from summed.items()
