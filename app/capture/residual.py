"""Whether content still holds a piece of the thought."""

from dataclasses import dataclass

from app.capture.outcome import Facts
from app.capture.protection import Protection


@dataclass(frozen=True, slots=True)
class Residual:
    """A rest of a thought in content. One that the prompt explains, because it speaks of the tags, is an echo."""

    found: bool
    echo: bool = False


def residual(content: str | None, facts: Facts) -> Residual:
    """Content that starts with the open tag or holds an unprotected close tag."""
    tags = facts.tags
    if not content or not (starts_open(content, tags.open) or Protection(content).first_unprotected(tags.close) >= 0):
        return Residual(found=False)
    echo = tags.tagged(facts.asked.prompt)
    return Residual(found=not echo, echo=echo)


def starts_open(text: str, tag: str) -> bool:
    """Whether the text starts with the tag, white space in front of it aside."""
    return text.lstrip().startswith(tag)
