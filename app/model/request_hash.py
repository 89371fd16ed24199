"""The hash of a request, which tells later whether a prompt that is rebuilt is the one that was sent."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def request_sha256(body: Mapping[str, Any]) -> str:
    """Of the canonical JSON of the whole request: settings, messages and tools; a lone surrogate by its code point."""
    canonical = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
