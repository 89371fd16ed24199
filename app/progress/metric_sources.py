"""Where each metric comes from: labels and values out of the facts of one moment."""

from collections.abc import Callable, Iterator

from app.model.bins import LATENCY_BINS, LATENCY_ENDS
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress.display import one_line
from app.progress.metric_facts import LatencyBin, MetricFacts
from app.progress.overview import DatasetProgress, Liveness, OpenWorker

Row = tuple[tuple[str, ...], float]
Rows = Iterator[Row]


def build(facts: MetricFacts) -> Rows:
    yield (facts.version, facts.schema, str(facts.parser_version), facts.sqlite_version), 1


def snapshot(facts: MetricFacts) -> Rows:
    yield (), facts.overview.as_of_ms / 1000


def seq(facts: MetricFacts) -> Rows:
    yield (), facts.overview.seq


def _of_datasets(value: Callable[[DatasetProgress], float | None]) -> Callable[[MetricFacts], Rows]:
    """A value a dataset; absent where it is None."""

    def rows(facts: MetricFacts) -> Rows:
        for one in facts.overview.datasets:
            if (found := value(one)) is not None:
                yield (one.name,), found

    return rows


jobs = _of_datasets(lambda one: one.tally.total)
sums = _of_datasets(lambda one: int(one.tally.adds_up))
captured = _of_datasets(lambda one: one.tally.capture.part)
graded = _of_datasets(lambda one: one.tally.capture.whole)
capture_ratio = _of_datasets(
    lambda one: one.tally.capture.part / one.tally.capture.whole if one.tally.capture.whole else None
)
late = _of_datasets(lambda one: one.tally.late)
tokens = _of_datasets(lambda one: one.tally.tokens)
per_hour = _of_datasets(lambda one: one.pace.rate.per_hour)
tokens_per_second = _of_datasets(lambda one: one.pace.rate.tokens_per_second)


def states(facts: MetricFacts) -> Rows:
    for one in facts.overview.datasets:
        for state in JobState:
            yield (one.name, state), one.tally.state(state)


def verdicts(facts: MetricFacts) -> Rows:
    """Every verdict of every dataset, those that nobody has too: what is absent raises no alert."""
    for one in facts.overview.datasets:
        for expected, counts in (("yes", one.tally.expected), ("no", one.tally.unexpected)):
            for verdict in Verdict:
                yield (one.name, verdict, expected), counts.get(verdict, 0)


def failed(facts: MetricFacts) -> Rows:
    for one in facts.overview.datasets:
        for cause, count in one.tally.failed.items():
            yield (one.name, cause), count


def turns(facts: MetricFacts) -> Rows:
    for one in facts.overview.datasets:
        if one.tally.turns.whole:
            yield (one.name, "asked_for"), one.tally.turns.whole
            yield (one.name, "answered"), one.tally.turns.part


def eta(facts: MetricFacts) -> Rows:
    for one in facts.overview.datasets:
        found = one.pace.eta
        for bound, ms in (("soonest", found.soonest_ms), ("latest", found.latest_ms)):
            if ms is not None:
                yield (one.name, bound), ms / 1000


def holds(facts: MetricFacts) -> Rows:
    for one in facts.overview.datasets:
        for hold in one.holds:
            yield (one.name, hold.kind), 1


def alarms(facts: MetricFacts) -> Rows:
    for one in facts.standing:
        about = "" if one.dataset is None else one.dataset, "" if one.endpoint is None else one_line(one.endpoint)
        yield (one.kind, *about, one.state, "yes" if one.holds else "no"), 1


def alarms_open(facts: MetricFacts) -> Rows:
    yield (), len(facts.overview.alarms)


def alarms_untold(facts: MetricFacts) -> Rows:
    yield (), len(facts.overview.untold)


def evaluation(facts: MetricFacts) -> Rows:
    if facts.evaluation.age_ms is not None:
        yield (), facts.evaluation.age_ms / 1000


def workers(facts: MetricFacts) -> Rows:
    for liveness in Liveness:
        yield (liveness,), facts.overview.workers.count(liveness)


def _of_workers(value: Callable[[OpenWorker, MetricFacts], float | None]) -> Callable[[MetricFacts], Rows]:
    """A value an open worker; absent where it is None."""

    def rows(facts: MetricFacts) -> Rows:
        for one in facts.overview.workers.open:
            if (found := value(one, facts)) is not None:
                yield (one_line(one.name), str(one.id)), found

    return rows


def _age_s(facts: MetricFacts, since_ms: int) -> float:
    """A clock that was set back gives no age below nothing."""
    return max(0, facts.overview.as_of_ms - since_ms) / 1000


def _leases(one: OpenWorker, facts: MetricFacts) -> int:
    return facts.held[one.id].jobs if one.id in facts.held else 0


def _lease_age(one: OpenWorker, facts: MetricFacts) -> float | None:
    oldest_ms = facts.held[one.id].oldest_ms if one.id in facts.held else None
    return None if oldest_ms is None else _age_s(facts, oldest_ms)


heartbeats = _of_workers(lambda one, facts: _age_s(facts, one.heartbeat_ms))
slots = _of_workers(lambda one, _: one.slots)
leases = _of_workers(_leases)
lease_ages = _of_workers(_lease_age)


def asking(facts: MetricFacts) -> Rows:
    for one in facts.overview.endpoints.asked:
        yield (one_line(one.base_url),), one.asking


def down(facts: MetricFacts) -> Rows:
    for one in facts.overview.endpoints.asked:
        yield (one_line(one.base_url),), one.down


def store_bytes(facts: MetricFacts) -> Rows:
    yield (), facts.overview.store_bytes - facts.wal_bytes


def wal_bytes(facts: MetricFacts) -> Rows:
    yield (), facts.wal_bytes


def disk_free(facts: MetricFacts) -> Rows:
    yield (), facts.overview.disk_free


def disk_total(facts: MetricFacts) -> Rows:
    yield (), facts.overview.disk_total


def disk_needed(facts: MetricFacts) -> Rows:
    if facts.overview.need.total is not None:
        yield (), facts.overview.need.total


def backup(facts: MetricFacts) -> Rows:
    if facts.overview.backup_ms is not None:
        yield (), facts.overview.backup_ms / 1000


def spool(facts: MetricFacts) -> Rows:
    yield ("waiting",), facts.overview.spool.waiting
    yield ("kept",), facts.overview.spool.kept


def spool_bytes(facts: MetricFacts) -> Rows:
    yield (), facts.overview.spool.bytes


Buckets = list[tuple[str, float]]  # each bound with all bodies up to it


def latency(facts: MetricFacts) -> Iterator[tuple[str, Buckets, float]]:
    """Each dataset with its buckets and the seconds of all its bodies."""
    for one in facts.overview.datasets:
        bins = facts.latencies.get(one.id, ())
        yield one.name, _cumulated(bins), sum(found.sum_ms for found in bins) / 1000


def _cumulated(bins: tuple[LatencyBin, ...]) -> Buckets:
    counts = {found.least_ms: found.bodies for found in bins}
    bounds = [*(str(end / 1000) for end in LATENCY_ENDS), "+Inf"]
    buckets, so_far = [], 0
    for least_ms, bound in zip(LATENCY_BINS, bounds, strict=True):
        so_far += counts.get(least_ms, 0)
        buckets.append((bound, float(so_far)))
    return buckets
