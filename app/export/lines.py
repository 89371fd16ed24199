"""Preset `run_inference`: one JSON object a line, with the keys of the old pipeline in their order."""

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

FIELDS = ("sample_id", "messages", "reasoning", "content", "finish_reason", "usage")
EXTRA_FIELDS = ("tool_calls", "replica")  # only in rows that have them, after the others

_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Exported:
    """The values of one line. None is "not found", and JSON null."""

    sample_id: str
    messages: str  # JSON
    reasoning: str | None
    content: str | None
    finish_reason: str | None
    usage: Any
    tool_calls: list[Any] | None
    replica: int | None  # only where a sample is answered several times


def line_of(row: Exported) -> bytes:
    """One line of UTF-8 with its end. Only a lone surrogate, which UTF-8 cannot hold, is an escape."""
    values = _values(row)
    try:
        return msgspec.json.encode(values | {"messages": msgspec.Raw(_compact(row.messages))}) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or an integer beyond 64 bits
        text = json.dumps(values | {"messages": json.loads(row.messages)}, ensure_ascii=False, separators=(",", ":"))
        return _LONE.sub(_escape, text).encode() + b"\n"


def _values(row: Exported) -> dict[str, Any]:
    values: dict[str, Any] = {
        "sample_id": row.sample_id,
        "messages": None,
        "reasoning": row.reasoning,
        "content": row.content,
        "finish_reason": row.finish_reason,
        "usage": row.usage,
    }
    if row.tool_calls is not None:
        values["tool_calls"] = row.tool_calls
    if row.replica is not None:
        values["replica"] = row.replica
    return values


def _compact(messages: str) -> bytes:
    """Messages as they are stored; a line end between their tokens would cut the line in two."""
    if "\n" in messages or "\r" in messages:
        messages = json.dumps(json.loads(messages), ensure_ascii=False, separators=(",", ":"))
    return messages.encode()


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
