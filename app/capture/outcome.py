"""What a rule decides about one answer, and the facts it decides by."""

from dataclasses import dataclass

from app.capture.asked import Asked
from app.capture.flags import Flag
from app.capture.profiles import Profile
from app.capture.reading import Parts
from app.model.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an answer besides its texts."""

    asked: Asked
    tags: Profile
    finish_reason: str
    tool_calls: int | None  # as the server parsed them

    @property
    def cut(self) -> bool:
        """Whether the token limit ended the answer."""
        return self.finish_reason == "length"

    @property
    def expected(self) -> bool:
        return self.asked.expected

    @property
    def truncated_or_leaked(self) -> Verdict:
        """The verdict on a thought with nothing behind it."""
        return Verdict.TRUNCATED if self.cut else Verdict.LEAKED

    @property
    def missing_or_none(self) -> Verdict:
        """The verdict on an answer without a thought."""
        return Verdict.MISSING if self.expected else Verdict.NONE_EXPECTED


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict and columns; `parts` only where the columns were cut out of content."""

    verdict: Verdict
    reasoning: str | None
    content: str | None
    flags: frozenset[Flag] = frozenset()
    parts: Parts | None = None
