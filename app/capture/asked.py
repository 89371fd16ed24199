"""What of the request a reading depends on."""

from dataclasses import dataclass
from enum import StrEnum

from app.capture.profiles import Profile, profile_named


class Form(StrEnum):
    """How a stored body is to be read."""

    CHAT = "chat"  # one chat.completion body
    SSE = "sse"  # an event stream, verbatim
    SPECFORGE = "specforge"  # a row of SpecForge's regenerated data: the answer is the last turn of `conversations`
    RAW_RESPONSES = "raw_responses"  # a row of an old run: messages, reasoning, content, finish_reason, usage


@dataclass(frozen=True, slots=True)
class Asked:
    """The request, as far as it decides how the answer is read. An unknown profile is a UsageError here, not later."""

    thinking: bool | None = None  # None: the request did not say, and the template's default is on
    profile: str = "think"
    prompt: str = ""
    form: Form = Form.CHAT

    def __post_init__(self) -> None:
        profile_named(self.profile)

    @property
    def expected(self) -> bool:
        """Whether the answer should hold reasoning."""
        return self.thinking is not False

    @property
    def tags(self) -> Profile:
        """The tags of the model family that was asked."""
        return profile_named(self.profile)
