"""An answer that another tool, or an export of our own, brings along."""

from collections.abc import Mapping
from dataclasses import dataclass, field

RAW_RESPONSES, CHAT, SPECFORGE = "raw_responses", "chat", "specforge"


@dataclass(frozen=True, slots=True)
class OldAnswer:
    """The body, verbatim, and what its row says of it. None: the row does not say, so the dataset's settings stand."""

    body: bytes
    form: str = RAW_RESPONSES
    expected: bool | None = None
    profile: str | None = None
    http_status: int | None = None
    facts: Mapping[str, str | int | None] = field(default_factory=dict)  # further columns of a response
    earlier: tuple["OldAnswer", ...] | None = None  # of a conversation: the answers to the turns before this one

    @property
    def latency_ms(self) -> int | None:
        """How long it took, where its row says when it was asked and when it came."""
        asked, came = self.facts.get("requested_ms"), self.facts.get("received_ms")
        return came - asked if isinstance(asked, int) and isinstance(came, int) else None
