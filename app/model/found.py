"""Where the reasoning of an answer was found, whatever became of it: what tells a server's fault from a parser's."""

from enum import StrEnum


class Found(StrEnum):
    """Of one answer as the server sent it: a field of its own that holds text, and a close tag in its content."""

    FIELD = "field"  # text in a field for reasoning
    TAG = "tag"  # a close tag in content
    BOTH = "both"
    NEITHER = "neither"

    @classmethod
    def of(cls, *, field: bool, tag: bool) -> "Found":
        """What was found of the two."""
        if field:
            return cls.BOTH if tag else cls.FIELD
        return cls.TAG if tag else cls.NEITHER
