"""One JSON object a line, with the keys of a preset in their order."""

import json
import re

import msgspec

from app.export.presets import SHAPES, Preset
from app.export.values import Exported

_LONE = re.compile("[\ud800-\udfff]")


def line_of(row: Exported, preset: Preset = Preset.RUN_INFERENCE) -> bytes:
    """One line of UTF-8 with its end. Only a lone surrogate, which UTF-8 cannot hold, is an escape."""
    values = SHAPES[preset].build(row)
    try:
        if "messages" in values:  # already JSON: writing it down again would cost half of the line's time
            values["messages"] = msgspec.Raw(_compact(row.messages))
        return msgspec.json.encode(values) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or an integer beyond 64 bits
        if "messages" in values:
            values["messages"] = json.loads(row.messages)
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        return _LONE.sub(_escape, text).encode() + b"\n"


def _compact(messages: str) -> bytes:
    """Messages as they are stored; a line end between their tokens would cut the line in two."""
    if "\n" in messages or "\r" in messages:
        messages = json.dumps(json.loads(messages), ensure_ascii=False, separators=(",", ":"))
    return messages.encode()


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
