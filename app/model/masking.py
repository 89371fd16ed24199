"""What is common to messages that differ only in their numbers, ids and hosts. Pure."""

import re

LONGEST = 300  # characters of a masked message

# In this order: a URL is a host before it is words and numbers, an id is hexadecimal before it is a number.
_MASKS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)\]]+", re.IGNORECASE), "URL"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "ID"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"), "HOST"),
    (re.compile(r"\[[0-9a-f:]*:[0-9a-f:.]*\](?::\d+)?", re.IGNORECASE), "HOST"),
    (re.compile(r"\b(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)*):\d{2,5}\b", re.IGNORECASE), "HOST"),
    (re.compile(r"\b(?=[a-z-]*\d)(?:[a-z]+-)?[0-9a-f]{8,}\b", re.IGNORECASE), "ID"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "N"),
)


def masked(message: str) -> str:
    """The message with URLs, hosts, ids and numbers as words, on one line, cut to its first characters."""
    text = " ".join(message[: 4 * LONGEST].split())
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text[:LONGEST]
