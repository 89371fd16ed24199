"""Workers as JSON."""

from dataclasses import asdict
from typing import Any

from app.progress.endpoints_json import endpoints_json
from app.progress.overview import Liveness
from app.progress.workers import EndpointCard, WorkerLine, WorkersPage


def workers_json(page: WorkersPage) -> dict[str, Any]:
    """The whole page."""
    return {
        "counts": {liveness: page.count(liveness) for liveness in Liveness},
        "workers": [_worker(worker) for worker in page.workers],
        "leases": page.leases,
        "oldest_leases": [asdict(lease) for lease in page.oldest],
        "endpoints": [_endpoint(card) for card in page.endpoints],
        "asked": endpoints_json(page.asked),
    }


def _worker(worker: WorkerLine) -> dict[str, Any]:
    rate = {"completions": worker.rate.completions, "span_ms": worker.rate.span_ms, "per_hour": worker.rate.per_hour}
    return asdict(worker) | {"rate": rate}


def _endpoint(card: EndpointCard) -> dict[str, Any]:
    return asdict(card) | {"facts": dict(card.facts), "unknown": card.unknown}
