"""The Overview as one JSON object: the same for `status --json` and `/api/v1/overview`."""

from typing import Any

from app.model.states import JobState
from app.model.verdicts import Fraction, Verdict
from app.progress.endpoints_json import endpoints_json
from app.progress.overview import Alarm, DatasetProgress, Liveness, Overview, Pace, Tally
from app.spool.looking import SpoolState


def overview_json(overview: Overview) -> dict[str, Any]:
    """All numbers, none of them rounded; rates are null while there is none."""
    return {
        "datasets": [dataset_json(dataset) for dataset in overview.datasets],
        "total": _tally(overview.total) | {"pace": _pace(overview.pace)},
        "adds_up": overview.adds_up,
        "alarms": [_alarm(alarm) for alarm in overview.alarms],
        "workers": {liveness: overview.workers.count(liveness) for liveness in Liveness}
        | {
            "open": [
                {
                    "id": worker.id, "name": worker.name, "host": worker.host, "pid": worker.pid, "slots": worker.slots,
                    "draining": worker.draining, "started_ms": worker.started_ms, "heartbeat_ms": worker.heartbeat_ms,
                    "liveness": worker.liveness,
                }
                for worker in overview.workers.open
            ]
        },
        "endpoints": endpoints_json(overview.endpoints),
        "spool": _spool(overview.spool),
        "store": {"path": overview.store_path, "bytes": overview.store_bytes, "backup_ms": overview.backup_ms},
        "disk": {
            "free": overview.disk_free, "total": overview.disk_total, "low": overview.disk_low,
            "open_jobs": overview.need.open_jobs, "answer_bytes": overview.need.answer_bytes,
            "needed": overview.need.total,
        },
    }  # fmt: skip


def dataset_json(dataset: DatasetProgress) -> dict[str, Any]:
    """One dataset as the Overview has it."""
    return {
        "name": dataset.name,
        "samples": dataset.samples,
        "replicas": dataset.replicas,
        **_tally(dataset.tally),
        "pace": _pace(dataset.pace),
        "holds": [{"kind": hold.kind, "reason": hold.reason, "since_ms": hold.since_ms} for hold in dataset.holds],
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "kind": alarm.kind, "dataset": alarm.dataset, "holds": alarm.holds, "since_ms": alarm.since_ms,
        "last_ms": alarm.last_ms, "part": alarm.part, "whole": alarm.whole, "message": alarm.message,
        "tell_tries": alarm.tell_tries, "tell_error": alarm.tell_error,
    }  # fmt: skip


def _spool(spool: SpoolState) -> dict[str, Any]:
    return {
        "waiting": spool.waiting, "bytes": spool.bytes, "oldest_ms": spool.oldest_ms, "kept": spool.kept,
        "torn_bytes": spool.torn_bytes, "unseen": [str(folder) for folder in spool.unseen],
        "files": [
            {
                "path": str(file.path), "size": file.size, "waiting": file.waiting, "bytes": file.bytes,
                "oldest_ms": file.oldest_ms, "held": file.held, "kept": file.kept, "torn_bytes": file.torn_bytes,
            }
            for file in spool.files
        ],
    }  # fmt: skip


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "total": tally.total,
        "states": {state: tally.state(state) for state in JobState},
        "states_sum": tally.summed,
        "adds_up": tally.adds_up,
        "progress": fraction_json(tally.progress),
        "capture": fraction_json(tally.capture),
        "truncated": fraction_json(tally.truncated),
        "verdicts": {verdict: tally.verdict(verdict) for verdict in Verdict if verdict is not Verdict.MALFORMED},
        "turns": fraction_json(tally.turns),
        "late_answers": tally.late,
        "completion_tokens": tally.tokens,
    }


def fraction_json(fraction: Fraction) -> dict[str, Any]:
    """A share with its parts; the percentage is cut, and null where there is nothing to divide by."""
    return {"part": fraction.part, "whole": fraction.whole, "percent": fraction.percent if fraction.whole else None}


def _pace(pace: Pace) -> dict[str, Any]:
    return {
        "completions": pace.rate.completions,
        "span_ms": pace.rate.span_ms,
        "per_hour": pace.rate.per_hour,
        "tokens_per_second": pace.rate.tokens_per_second,
        "eta": {"word": pace.eta.word, "soonest_ms": pace.eta.soonest_ms, "latest_ms": pace.eta.latest_ms},
        "failed_last_hour": pace.failed_last_hour,
    }
