"""The hash of a request, which tells later whether a prompt that is rebuilt is the one that was sent."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.model.conversation import Message, as_sent


def request_sha256(body: Mapping[str, Any]) -> str:
    """Of the canonical JSON of the whole request: settings, messages and tools; a lone surrogate by its code point."""
    canonical = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def was_sent(messages: Sequence[Message], tools: str | None, request: str | None, sha256: str | None) -> bool | None:
    """Whether this prompt is the one of a request; None where no hash of the request is known.

    `request` is the JSON of all that was sent but messages and tools, `tools` that of the tools.
    """
    if request is None or sha256 is None:
        return None
    body = {**json.loads(request), "messages": as_sent(messages)}
    if tools is not None:
        body["tools"] = json.loads(tools)
    return request_sha256(body) == sha256
