"""JSON from bytes that may be anything, and the one exception that says why a body is no answer."""

import json
from itertools import chain
from typing import NoReturn

from app.capture.flags import Flag

# The standard parser gives up at a depth that depends on the caller's stack and on the Python version. A limit of
# our own, far below, makes the same body read the same everywhere; real bodies are about ten deep.
MAX_DEPTH = 200

# A list or object costs the decoder 100 to 250 ns whatever it holds, so a body of `[],[],[]` would take as long as one
# twenty times its size. Of the densest of real answers, those with log probabilities, each has 13 characters or more.
_FREE = 10_000
_CHARACTERS_EACH = 10
_CONTAINERS = frozenset((list, dict))


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


def parse(text: str, depth: int = 0) -> object:
    """The value of a JSON text, NaN and Infinity allowed; `not_json` for everything else, endless nesting included.

    So many levels more than usual are allowed as the caller put around it.
    """
    if too_dense(text):
        refuse(Flag.NOT_JSON)
    value = load(text)
    if _brackets(text) > MAX_DEPTH and _too_deep(value, MAX_DEPTH + depth):
        refuse(Flag.NOT_JSON)
    return value


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def _room(text: str) -> int:
    return max(_FREE, len(text) // _CHARACTERS_EACH)


def too_dense(text: str) -> bool:
    """Whether JSON holds more lists and objects than an answer has room for; brackets inside strings are none."""
    if _brackets(text) <= _room(text):
        return False
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    return _brackets("".join(outside)) > _room(text)


def load(text: str) -> object:
    """The same, of a text that is neither too dense nor too deep."""
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        refuse(Flag.NOT_JSON)


def _loads(text: str) -> object:
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer beyond the interpreter's limit of digits is valid JSON all the same
        value = json.loads(text, parse_int=_number)
    return value


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 100 else float(digits)


def _too_deep(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        lists = [node for node in level if isinstance(node, list)]
        objects = [node.values() for node in level if isinstance(node, dict)]
        inside = chain(chain.from_iterable(lists), chain.from_iterable(objects))
        level = [node for node in inside if type(node) in _CONTAINERS]
        if not level:
            return False
    return True
