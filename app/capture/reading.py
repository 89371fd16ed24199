"""What one version of the parser sees in a body."""

from dataclasses import dataclass

from app.capture.flags import Flag
from app.model.found import Found
from app.model.loss_flags import LossFlag
from app.model.verdicts import Verdict

Parts = tuple[str, str, str, str, str]  # lead, open, reasoning, close, content: joined they are `message.content`


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server gave them; None is "not said", which 0 is not."""

    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """One choice: None is "not found", "" is "found, and empty"."""

    index: int
    reasoning: str | None
    content: str | None
    tool_calls: int | None  # None when there is none, never 0
    verdict: Verdict
    flags: frozenset[str]
    parts: Parts | None  # None when nothing was split from content
    finish_reason: str | None
    found: Found = Found.NEITHER  # as the server sent it


@dataclass(frozen=True, slots=True)
class Reading:
    """A whole body. Its columns are those of the choice with the lowest index; all are None when it is malformed."""

    verdict: Verdict
    flags: frozenset[str]
    reasoning: str | None = None
    content: str | None = None
    tool_calls: int | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    parts: Parts | None = None
    choices: tuple[ChoiceReading, ...] = ()
    found: Found | None = None  # None: malformed
    model: str | None = None  # as the body says, which need not be the one that answered
    weight_version: str | None = None
    token_ids: tuple[int, ...] | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    loss_flags: frozenset[LossFlag] = frozenset()  # measured, beside what the procedure says


def malformed(flag: Flag) -> Reading:
    """No answer at all, and why."""
    return Reading(verdict=Verdict.MALFORMED, flags=frozenset({flag}))
