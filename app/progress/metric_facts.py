"""What the metrics are made of: the Overview and what stands beside it, from one snapshot, never from a walk."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from app.capture import PARSER_VERSION
from app.progress import statements as overview_statements
from app.progress import statements_workers as statements
from app.progress.alerts import AlarmLine, Evaluation, evaluation_of, standing_of
from app.progress.gathering import read_overview
from app.progress.overview import Overview
from app.store import library, schema
from app.store.store import Store
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class Held:
    """What a worker holds now."""

    jobs: int
    oldest_ms: int | None  # when the oldest of them was leased


@dataclass(frozen=True, slots=True)
class LatencyBin:
    """Bodies of a dataset that took at least so long, up to the next bin."""

    least_ms: int
    bodies: int
    sum_ms: int


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One moment of a store."""

    overview: Overview
    wal_bytes: int
    held: Mapping[int, Held]  # by worker
    latencies: Mapping[int, tuple[LatencyBin, ...]]  # by dataset; only bins that hold something
    standing: tuple[AlarmLine, ...]
    evaluation: Evaluation
    version: str
    schema: str
    parser_version: int
    sqlite_version: str


async def metric_facts(store: Store) -> MetricFacts:
    """All of it. Its cost follows the datasets, workers and alarms, not the jobs."""
    return await store.read(lambda reads: _facts(reads, store))


async def _facts(reads: Reads, store: Store) -> MetricFacts:
    now_ms = store.now_ms()
    held = {row.lease_worker: Held(row.n, row.oldest_ms) for row in await reads.rows(statements.leases())}
    found: dict[int, tuple[LatencyBin, ...]] = {}
    for row in await reads.rows(overview_statements.latencies()):
        found[row.dataset_id] = (*found.get(row.dataset_id, ()), LatencyBin(row.least_ms, row.n, row.sum_ms))
    standing = standing_of(await reads.rows(statements.alarms()))
    evaluation = evaluation_of(await reads.first(statements.evaluator()), now_ms)
    overview = await read_overview(reads, store, now_ms)
    return MetricFacts(
        overview=overview,
        wal_bytes=store.place.wal_size(),
        held=held,
        latencies=found,
        standing=standing,
        evaluation=evaluation,
        version=version("thinkledger"),
        schema=schema.NEWEST,
        parser_version=PARSER_VERSION,
        sqlite_version=".".join(map(str, library.version())),
    )
