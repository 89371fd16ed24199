"""Whether the parts of a split answer, joined, are the text that the server sent."""

from dataclasses import dataclass
from enum import StrEnum


class Joined(StrEnum):
    """What joining the parts gives."""

    EXACT = "exact"  # the server's text, byte for byte
    DIFFERS = "differs"
    BY_SERVER = "by_server"  # the server split it: exactness unknown
    NOTHING = "nothing"  # nothing was split


@dataclass(frozen=True, slots=True)
class Reassembly:
    """`tag_at` is where the close tag stands in the server's text; `differs_at` the first other character."""

    joined: Joined
    differs_at: int | None = None
    tag_at: int | None = None
    tag: str | None = None
