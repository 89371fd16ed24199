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
