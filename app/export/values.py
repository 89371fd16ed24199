"""What is exported of one answer: the values that presets make lines of."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from app.export.body import open_body
from app.export.template import Template
from app.model.ids import ResponseId


class Facts(NamedTuple):
    """How an answer came, and what was asked: read for the files that show some of it, and for conversations."""

    params: str | None  # JSON, of the sample
    flags: str  # JSON
    loss_flags: str | None  # JSON; null for none
    expected: int
    profile: str
    raw_text_sent: int
    http_status: int | None
    content_type: str | None
    request_id: str | None
    request: str | None  # JSON of all that was sent but messages and tools
    request_sha256: str | None  # of all that was sent; None: an earlier tool asked
    requested_ms: int | None
    received_ms: int
    raw_sha256: str

    def of_response(self, form: str) -> dict[str, Any]:
        """All about the response but its body."""
        return {
            "form": form,
            "http_status": self.http_status,
            "content_type": self.content_type,
            "request_id": self.request_id,
            "requested_ms": self.requested_ms,
            "received_ms": self.received_ms,
            "expected": bool(self.expected),
            "profile": self.profile,
            "raw_text_sent": bool(self.raw_text_sent),
            "request": None if self.request is None else json.loads(self.request),
            "request_sha256": self.request_sha256,
            "raw_sha256": self.raw_sha256,
        }


class Stored(NamedTuple):
    """The response and its very bytes. A tuple: one is made for each answer, whatever the file shows of it."""

    response: ResponseId
    replica: int
    verdict: str
    parser_version: int
    form: str
    body: bytes
    known: Facts | None  # None: not read

    @property
    def facts(self) -> Facts:
        """The facts, of a file that has them read (`app.export.presets.Shape.facts`)."""
        assert self.known is not None, "this preset reads no facts"
        return self.known


class Unfit(ValueError):
    """There is no row of this answer in such a file; `reason` is what it is counted under."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Exported:
    """The values of one line. None is "not found", and JSON null."""

    sample_id: str
    messages: str  # JSON
    tools: str | None  # JSON
    reasoning: str | None
    content: str | None
    finish_reason: str | None
    usage: Any
    tool_calls: list[Any] | None
    replica: int | None  # only where a sample is answered several times
    stored: Stored
    parts: tuple[str, str, str] | None = None  # white space, open tag and close tag of a text that was split
    tokens: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)  # of prompt and answer
    template: Template | None = None  # that the text is made by
    turn: int | None = None  # of one generation of a conversation
    generations: tuple["Exported", ...] = ()  # of a whole conversation: each with the history that it was asked with
    script: str | None = None  # JSON: what a whole conversation was made of

    @property
    def name(self) -> str:
        """One id a line: the sample's, with the numbers of replica and turn where there are several."""
        replica = "" if self.replica is None else f"#{self.replica}"
        return f"{self.sample_id}{replica}" if self.turn is None else f"{self.sample_id}{replica}@{self.turn}"

    @cached_property
    def body_value(self) -> Any:
        """The body as JSON; an event stream joined into the body that it stands for."""
        return open_body(self.stored.response, self.stored.form, self.stored.body)
