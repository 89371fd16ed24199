"""Step 1: which of the texts a server sent beside content is the thought."""

from dataclasses import dataclass

from app.capture.flags import Flag
from app.capture.profiles import Profile


@dataclass(frozen=True, slots=True)
class Field:
    """The thought as a field of its own. `blank` is a field of white space, kept for when nothing is split."""

    text: str | None  # never blank
    blank: str | None
    flags: frozenset[Flag]


def is_blank(text: str | None) -> bool:
    """Whether there is nothing to read: absent, empty or white space only."""
    return text is None or not text or text.isspace()


def choose_field(thoughts: tuple[str, ...], tags: Profile) -> Field:
    """The first text that is not blank, in its longest copy, without the tags it may still wear."""
    blank = next((text for text in thoughts if text and is_blank(text)), None)
    filled = [text for text in thoughts if not is_blank(text)]
    if not filled:
        return Field(None, blank, frozenset())
    core = filled[0].strip()
    copies = [text for text in filled if text.strip() == core]
    flags = {Flag.FIELDS_DISAGREE} if len(copies) < len(filled) else set[Flag]()
    chosen = max(copies, key=len)
    text = unwrap(chosen, tags)
    if text is not chosen:
        flags.add(Flag.FIELD_WRAPPED)
    if is_blank(text):
        return Field(None, blank or text or None, frozenset(flags))
    return Field(text, blank, frozenset(flags))


def unwrap(text: str, tags: Profile) -> str:
    """Without a leading open tag and, then, a trailing close tag; `text` itself when it wears none.

    The white space outside the tags goes with them, what is inside stays.
    """
    inner = text.lstrip()
    if not inner.startswith(tags.open):
        return text
    inner = inner[len(tags.open) :]
    end = inner.rstrip()
    return end[: -len(tags.close)] if end.endswith(tags.close) else inner
