"""Whether the parts of a split answer, joined, are the text that the server sent."""

import json
from dataclasses import dataclass
from enum import StrEnum

from app.capture import Form, content_of
from app.model.verdicts import CAPTURED, Verdict


class Joined(StrEnum):
    """What joining the parts gives."""

    EXACT = "exact"  # the server's text, byte for byte
    DIFFERS = "differs"
    BY_SERVER = "by_server"  # the server split it: exactness unknown
    NOTHING = "nothing"  # nothing was split


@dataclass(frozen=True, slots=True)
class Reassembly:
    """`differs_at` is the first character that is another. `tag` is the close tag at which the text was split."""

    joined: Joined
    differs_at: int | None = None
    tag: str | None = None
    tag_at: int | None = None  # its first character in the server's text
    raw_tag_at: int | None = None  # its first byte in the raw body; None where the body writes it in another way


def reassemble(
    raw: bytes, form: Form, verdict: str, parts: str | None, reasoning: str | None, content: str | None
) -> Reassembly:
    """Join the stored parts (JSON of lead, open and close tag, with both texts between) and compare."""
    if parts is None:
        captured = verdict in CAPTURED or verdict == Verdict.LEAKED
        return Reassembly(Joined.BY_SERVER if captured and reasoning is not None else Joined.NOTHING)
    lead, opening, tag = json.loads(parts)
    before = lead + opening + _text(reasoning)
    joined = before + tag + _text(content)
    sent = _text(content_of(raw, form))
    if joined != sent:
        return Reassembly(Joined.DIFFERS, differs_at=first_difference(joined, sent), tag=tag or None)
    if not tag:
        return Reassembly(Joined.EXACT)
    return Reassembly(Joined.EXACT, None, tag, len(before), _in_raw(raw, sent, tag, len(before)))


def _text(text: str | None) -> str:
    return "" if text is None else text


def first_difference(one: str, other: str) -> int:
    """The first place at which two texts differ; the length of the shorter one where it begins the other."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _in_raw(raw: bytes, sent: str, tag: str, tag_at: int) -> int | None:
    """The place of the tag in the body, if the body holds it as often as the text does."""
    written = tag.encode()
    if raw.count(written) != sent.count(tag):
        return None
    place = -1
    for _ in range(sent.count(tag, 0, tag_at) + 1):
        place = raw.find(written, place + 1)
    return place
