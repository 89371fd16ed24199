"""JSON from bytes that may be anything, and the one exception that says why a body is no answer."""

import json
from typing import NoReturn

from app.capture.flags import Flag

# The standard parser gives up at a depth that depends on the caller's stack and on the Python version. A limit of
# our own, far below, makes the same body read the same everywhere; real bodies are about ten deep.
MAX_DEPTH = 200


class Malformed(Exception):
    """The body is no answer; `flag` is the first reason that holds. Never leaves this package."""

    def __init__(self, flag: Flag) -> None:
        super().__init__(flag)
        self.flag = flag


def refuse(flag: Flag) -> NoReturn:
    """Stop reading: this body is malformed."""
    raise Malformed(flag)


def decode(body: bytes) -> str:
    """The text of a body. Encoded lone surrogates are kept; anything else that is not UTF-8 is `not_json`."""
    try:
        return body.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError:
        refuse(Flag.NOT_JSON)


def parse(text: str) -> object:
    """The value of a JSON text, NaN and Infinity allowed; `not_json` for everything else, endless nesting included."""
    try:
        value = _load(text)
    except (ValueError, RecursionError):
        refuse(Flag.NOT_JSON)
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        refuse(Flag.NOT_JSON)
    return value


def _load(text: str) -> object:
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer beyond the interpreter's limit of digits is valid JSON all the same
        value = json.loads(text, parse_int=_number)
    return value


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 100 else float(digits)


def _too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[object] = []
        for node in level:
            inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
            deeper.extend([child for child in inside if isinstance(child, (dict, list))])
        if not deeper:
            return False
        level = deeper
    return True
