"""What a server says of itself, with everything secret left out. Pure.

Many SGLang versions show `api_key` and `admin_api_key` in clear in /server_info, and again in `launch_command`: so only
the fields named here are ever kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.asking import Dialect

KEPT = (
    "version",
    "served_model_name",
    "reasoning_parser",
    "tool_call_parser",
    "context_length",
    "dtype",
    "quantization",
    "tp_size",
    "dp_size",
    "max_running_requests",
    "chat_template",
    "weight_version",
)


@dataclass(frozen=True, slots=True)
class Model:
    """One model of /v1/models."""

    id: str
    owned_by: str | None
    max_model_len: int | None


def models_of(listing: object) -> list[Model]:
    """The models of a /v1/models body; rows of another shape are left out."""
    rows = listing.get("data") if isinstance(listing, dict) else None
    return [_model(row) for row in rows or [] if isinstance(row, dict) and isinstance(row.get("id"), str)]


def _model(row: Mapping[str, Any]) -> Model:
    owner, length = row.get("owned_by"), row.get("max_model_len")
    return Model(row["id"], owner if isinstance(owner, str) else None, length if isinstance(length, int) else None)


def fingerprint_of(server_info: object, model: Model) -> dict[str, str | int | bool | None]:
    """The whitelisted fields of /server_info (None where the server has none) with what /v1/models says."""
    info = server_info if isinstance(server_info, dict) else {}
    kept = {name: info[name] for name in KEPT if isinstance(info.get(name), str | int | bool)}
    return {**kept, "owned_by": model.owned_by, "max_model_len": model.max_model_len}


def dialect_of(
    server_info: object, model: Model, *, raw_text: bool | None, token_ids: bool, stream: bool = False
) -> Dialect:
    """How the server is asked. `raw_text` None: losslessly where it is known to be understood, which is SGLang."""
    is_sglang = model.owned_by == "sglang" or (isinstance(server_info, dict) and "reasoning_parser" in server_info)
    name = "sglang" if is_sglang else "vllm" if model.owned_by == "vllm" else "other"
    return Dialect(name, is_sglang if raw_text is None else raw_text, token_ids and name != "other", stream)
