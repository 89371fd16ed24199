"""Which datasets are stalled now: the pages and the alarm ask the same function."""

from app.gates import statements_timed as statements
from app.model.ids import DatasetId
from app.model.stall import LEAST_MS, Silence
from app.store.transaction import Reads

LATENCIES = 200


async def stalled(reads: Reads, now_ms: int) -> dict[DatasetId, Silence]:
    """The silence of each stalled dataset; empty while all is well."""
    found = {}
    for row in await reads.rows(statements.silences()):
        dataset = DatasetId(row.id)
        since_ms = max((at_ms for at_ms in (row.oldest_ms, row.finished_ms) if at_ms is not None), default=now_ms)
        if row.leases == 0 or now_ms - since_ms <= LEAST_MS:
            continue
        latest = await reads.rows(statements.latencies(), {"dataset": dataset, "limit": LATENCIES})
        silence = Silence(row.leases, since_ms, [one.latency_ms for one in latest if one.latency_ms is not None])
        if silence.stalled(now_ms):
            found[dataset] = silence
    return found
