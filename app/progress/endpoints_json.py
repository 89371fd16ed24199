"""The servers that are asked now, as JSON."""

from typing import Any

from app.gates.health import Endpoints


def endpoints_json(found: Endpoints) -> dict[str, Any]:
    """In all, and one by one."""
    return {
        "reach": found.reach,
        "known": found.known,
        "asked": [
            {
                "base_url": one.base_url, "model": one.model, "reach": one.reach, "workers": one.asking,
                "down_for": one.down, "since_ms": one.since_ms, "reason": one.reason,
            }
            for one in found.asked
        ],
    }  # fmt: skip
