"""The JSON API as an OpenAPI document, made from its routes and from the code's own words."""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from app.export.presets import Preset
from app.export.request import Format, Only, Packing
from app.leasing.holds import HoldKind
from app.model.found import Found
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress.filters import MOST, Sort
from app.progress.series import Span
from app.web.asking import LARGEST, LONGEST_VALUE

Json = dict[str, Any]
TEXT: Json = {"type": "string", "maxLength": LONGEST_VALUE}
FLAG: Json = {"type": "boolean"}


def words(kind: type[StrEnum]) -> Json:
    return {"type": "string", "enum": [str(word) for word in kind]}


def number(least: int = 0, most: int = LARGEST) -> Json:
    return {"type": "integer", "minimum": least, "maximum": most}


FIELDS: dict[str, Json] = {
    "state": words(JobState), "verdict": words(Verdict), "cause": words(Cause), "flag": words(LossFlag),
    "found": words(Found), "sort": words(Sort), "span": words(Span), "finish": TEXT, "q": TEXT,
    "after": TEXT, "since": TEXT, "until": TEXT,
    "min_reasoning": number(), "max_reasoning": number(), "attempt_gt": number(), "worker": number(1),
    "limit": number(1, MOST),
    "id": TEXT, "replica": number(), "attempt": number(1), "turn": number(),
    "reason": TEXT, "kinds": words(HoldKind), "max_tokens": number(1, 10_000_000), "expected_count": number(),
    "dry_run": FLAG, "allow_regression": FLAG, "overwrite": FLAG, "allow_uncaptured": FLAG,
    "dataset": TEXT, "only": words(Only), "preset": words(Preset), "format": words(Format), "packing": words(Packing),
    "shard_size": number(1), "template": TEXT, "end_token": TEXT, "name": TEXT,
}  # fmt: skip
FILTERS = (
    "state", "verdict", "finish", "cause", "found", "flag", "q", "min_reasoning", "max_reasoning", "attempt_gt",
    "since", "until", "worker", "sort", "after", "limit",
)  # fmt: skip
ONE = "/api/v1/datasets/{name}"
ASKED = {
    ONE: ("span",), f"{ONE}/series": ("span",), f"{ONE}/samples": FILTERS,
    f"{ONE}/sample": ("id", "replica", "attempt", "turn"),
    f"{ONE}/samples/{{sample_id}}": ("replica", "attempt", "turn"),
    f"{ONE}/samples/{{sample_id}}/attempts/{{attempt}}/raw": ("replica", "turn"),
}  # fmt: skip
NEEDED = {f"{ONE}/sample": {"id"}, f"{ONE}/retry": {"expected_count"}, "/api/v1/exports": {"dataset"}}
PLACES: dict[str, Json] = {"name": {"type": "string"}, "sample_id": {"type": "string"}, "attempt": number(1),
                           "number": number(1)}  # fmt: skip
REFUSALS = {
    "400": "what was said cannot be meant", "401": "no session and no token", "403": "the server is read-only",
    "404": "there is no such thing", "409": "refused: a count has moved, a file is there",
    "413": "the body is too large",
    "503": "the store cannot be read", "507": "no room is left",
}  # fmt: skip
TWIN: Json = {
    "type": "object", "required": ["data", "as_of", "seq"],
    "properties": {"data": {"type": ["object", "array"]}, "as_of": {"type": "integer"}, "seq": {"type": "integer"}},
}  # fmt: skip
PROBLEM: Json = {
    "type": "object", "required": ["title", "status", "detail"],
    "properties": {"title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}},
}  # fmt: skip


def document(gets: dict[str, str], posts: dict[str, str]) -> Json:
    """The document for routes with what their tables say of them."""
    paths: dict[str, Json] = {}
    for path, told in sorted(gets.items()):
        paths.setdefault(path, {})["get"] = _get(path, told)
    for path, told in sorted(posts.items()):
        paths.setdefault(path, {})["post"] = _post(path, told)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Thinkledger", "version": "1", "description": "Made by `make references`; see json-api.md."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def text(made: Json) -> str:
    """How it is written into its file."""
    return json.dumps(made, indent=1) + "\n"


def _get(path: str, told: str) -> Json:
    raw = path.endswith("/raw")
    whole: Json = {"application/octet-stream": {}} if raw else {"application/json": {"schema": TWIN}}
    asked = [_parameter(key, "query", required=key in NEEDED.get(path, ())) for key in ASKED.get(path, ())]
    return {"summary": told, "parameters": [*_places(path), *asked], "responses": _answers({"200": whole})}


def _post(path: str, told: str) -> Json:
    keys = re.findall(r"`(\w+)`", told)
    body = {
        "type": "object", "additionalProperties": False, "properties": {key: FIELDS[key] for key in keys},
        "required": [key for key in keys if key in NEEDED.get(path, ())],
    }  # fmt: skip
    taken = "202" if path == "/api/v1/exports" else "200"
    return {
        "parameters": list(_places(path)),
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": _answers({taken: {"application/json": {"schema": TWIN}}}),
    }


def _answers(good: dict[str, Json]) -> Json:
    told = {"application/problem+json": {"schema": PROBLEM}}
    refused = {
        status: {"description": why, "content": told if status not in ("401", "413") else {}}
        for status, why in REFUSALS.items()
    }
    return {status: {"description": "done", "content": content} for status, content in good.items()} | refused


def _places(path: str) -> Iterator[Json]:
    for key in re.findall(r"\{(\w+)\}", path):
        yield {"name": key, "in": "path", "required": True, "schema": PLACES[key]}


def _parameter(key: str, where: str, *, required: bool) -> Json:
    return {"name": key, "in": where, "required": required, "schema": FIELDS[key]}
