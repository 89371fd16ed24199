"""The beginning of a long text, and how much of it that is."""

from dataclasses import dataclass

SHOWN = 64 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a text. Bytes that are no UTF-8 stand as `\\xff`."""

    text: str
    shown_bytes: int
    bytes: int

    @property
    def cut(self) -> bool:
        return self.shown_bytes < self.bytes


def excerpt(text: str | bytes, limit: int = SHOWN) -> Excerpt:
    """The first `limit` bytes of a text in UTF-8, cut between two characters."""
    whole = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(whole) <= limit:
        return Excerpt(text if isinstance(text, str) else _decode(whole), len(whole), len(whole))
    end = limit
    while end > limit - 4 and whole[end] & 0xC0 == 0x80:  # the middle of a character
        end -= 1
    start = whole[:end]
    shown = start.decode("utf-8", "surrogatepass") if isinstance(text, str) else _decode(start)
    return Excerpt(shown, end, len(whole))


def _decode(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")
