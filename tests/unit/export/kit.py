"""What the tests of exported lines share."""

from typing import Any

from app.export.values import Facts, Stored
from app.model.ids import ResponseId

BODY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"r</think>c"},"finish_reason":"stop"}]}'


def stored(**changed: Any) -> Stored:
    """A stored answer of a server without a reasoning parser."""
    values: dict[str, Any] = {
        "response": ResponseId(1), "replica": 0, "verdict": "split_from_content", "parser_version": 1, "form": "chat",
        "body": BODY,
    }  # fmt: skip
    facts: dict[str, Any] = {
        "params": None, "flags": "[]", "loss_flags": None, "expected": 1, "profile": "think", "raw_text_sent": 1,
        "http_status": 200, "content_type": "application/json", "request_id": "q-1", "request": '{"model":"m"}',
        "request_sha256": "0", "requested_ms": 1, "received_ms": 2, "raw_sha256": "0",
    }  # fmt: skip
    facts |= {name: changed.pop(name) for name in facts.keys() & changed.keys()}
    return Stored(**values | changed, known=Facts(**facts))
