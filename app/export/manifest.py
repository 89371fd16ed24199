"""The manifest beside an exported file: what is in it, what was left out and why, and where it all came from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from app.export.census import Census, LeftOut
from app.export.hashing import Written
from app.export.naming import finals
from app.export.presets import SHAPES
from app.export.request import ExportRequest
from app.export.template import Template
from app.export.walk import Walked
from app.store import schema

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose answers are in the file. The fingerprint holds whitelisted fields only."""

    base_url: str
    model: str
    fingerprint: Any
    rows: int


def manifest(
    request: ExportRequest,
    census: Census,
    walked: Walked,
    written: Written,
    servers: Sequence[Server],
    times: dict[str, str],
) -> dict[str, Any]:
    """Everything but `times` is the same whenever the same store is exported as of the same seq.

    Beside it stands `warnings` where something was amiss at that moment.
    """
    left_out = walked.left_out(census)
    return {
        "schema": SCHEMA,
        "tool": {"name": "thinkledger", "version": version("thinkledger")},
        "store": {
            "id": census.store_id,
            "epoch": census.epoch,
            "seq": census.seq,
            "highest_job": census.highest_job,
            "schema": schema.NEWEST,
        },
        "dataset": census.name,
        "sources": [
            {"name": source.name, "sha256": source.sha256, "rows": source.rows, "rejected": source.rejected}
            for source in census.sources
        ],
        "preset": request.preset,
        "template": _template(request.template),
        "filters": {"only": request.only, "limit": request.limit},
        "fields": [*SHAPES[request.preset].fields],
        "optional_fields": [*SHAPES[request.preset].optional],
        "complete": census.complete,
        "jobs": census.total,
        "replicated": census.replicated,
        "rows": written.rows,
        "jobs_exported": walked.jobs,
        "file": _file_name(request.target),
        "format": request.format,
        "packing": request.packing,
        "shard_size": request.shard_size,
        "shards": _shards(request, written),
        "bytes": written.bytes,
        "sha256": written.sha256,
        "uncompressed_bytes": written.line_bytes,
        "uncompressed_sha256": written.line_sha256,
        "verdicts": _sorted(walked.verdicts),
        "finish_reasons": _sorted({str(reason): count for reason, count in walked.finish_reasons.items()}),
        "with_tool_calls": walked.with_tool_calls,
        "left_out": _sorted(left_out),
        "left_out_ids": _ids(census, walked, sum(left_out.values())),
        "parser_versions": sorted(walked.parser_versions),
        "servers": [
            {"base_url": server.base_url, "model": server.model, "fingerprint": server.fingerprint, "rows": server.rows}
            for server in servers
        ],
        "times": times,
    }


def as_text(value: dict[str, Any]) -> str:
    """A manifest as it is written."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _ids(census: Census, walked: Walked, count: int) -> dict[str, Any]:
    """The ids that are left out: all of them, or the first thousand of those without an answer and of the others."""
    listed = [*census.unanswered, *walked.excluded]
    return {"count": count, "all_listed": len(listed) == count, "ids": [_id(one, census) for one in listed]}


def _id(one: LeftOut, census: Census) -> dict[str, Any]:
    replica = {"replica": one.replica} if census.replicated else {}
    return {"sample_id": one.sample_id, **replica, "reason": one.reason}


def _sorted(counts: dict[Any, int]) -> dict[str, int]:
    return {str(key): counts[key] for key in sorted(counts, key=str)}


def _shards(request: ExportRequest, written: Written) -> list[dict[str, Any]] | None:
    """Each file of an export in shards; its sha256 above is that of all of them one after another."""
    if request.shard_size is None or request.target is None:
        return None
    names = finals(request.target, len(written.pieces), sharded=True)
    return [
        {"file": path.name, "rows": piece.rows, "bytes": piece.bytes, "sha256": piece.sha256}
        for path, piece in zip(names, written.pieces, strict=True)
    ]


def _template(template: Template | None) -> dict[str, str] | None:
    """All of it: a check makes the texts again."""
    if template is None:
        return None
    return {
        "name": template.name, "sha256": template.sha256, "end_token": template.end_token,
        "variables": template.variables, "text": template.text,
    }  # fmt: skip


def _file_name(target: Path | None) -> str | None:
    return None if target is None else target.name
