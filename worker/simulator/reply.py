"""What a persona answers with: a description, not bytes. Pure; `wire` makes the bytes, `delivery` sends them."""

from dataclasses import dataclass
from enum import StrEnum

from worker.simulator.filing import Message

JSON = "application/json"
HTML = "text/html; charset=utf-8"


class Delivery(StrEnum):
    """How the bytes of a reply reach the client."""

    WHOLE = "whole"
    HALF = "half"  # complete HTTP, but only half of what the body should be
    CUT = "cut"  # half of what was announced, then the connection is closed
    DRIPPED = "dripped"  # whole, a few bytes at a time
    NEVER = "never"  # nothing is ever sent
    CUTS_ALL = "cuts_all"  # every connection of the server is cut
    ENDS = "ends"  # the server's process ends


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as SGLang words it, in its flat envelope."""

    message: str
    kind: str
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A described reply. It carries a message, a problem, or ready bytes."""

    status: int = 200
    message: Message | None = None
    problem: Problem | None = None
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    delivery: Delivery = Delivery.WHOLE
    drip_seconds: float = 0.0
    padding: int = 0  # bytes of filler inside the message's content
    generated: bool = True  # False: refused before a slot or any waiting was needed
