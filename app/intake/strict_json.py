"""JSON as it is safe to take in: every key once, finite numbers, at most 64 levels, at most 4 MiB.

The standard library's decoder: with these hooks it reads a typical row in 5 us, and its errors name a place.
"""

import json
import math
from collections.abc import Callable
from typing import TypeAlias

from app.intake.refusal import RowRefused

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 64


def read_json(data: bytes) -> Json:
    """The value that `data` holds. Raises RowRefused, and nothing else, for any other bytes."""
    if len(data) > MAX_BYTES:
        raise RowRefused("too_large", f"{len(data):,} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RowRefused("not_utf8", f"byte {error.start + 1}: {error.reason}") from None
    return read_text(text)


def read_text(text: str) -> Json:
    """The value that a JSON text holds; raises like `read_json`."""
    return _checked(_whole, text)


def read_first(text: str, start: int) -> tuple[Json, int]:
    """The value that begins at `start`, and where it ends; what follows is not looked at. Raises like `read_json`."""
    end = start

    def decode(text: str) -> Json:
        nonlocal end
        found: tuple[Json, int] = _DECODER.raw_decode(text, start)
        end = found[1]
        return found[0]

    value = _checked(decode, text)
    return value, end


def _whole(text: str) -> Json:
    value: Json = _DECODER.decode(text)
    return value


def _checked(decode: Callable[[str], Json], text: str) -> Json:
    try:
        value = decode(text)
    except json.JSONDecodeError as error:
        raise RowRefused("not_json", f"character {error.pos + 1}: {error.msg}") from None
    except RecursionError:
        raise RowRefused("too_deep", "far more than 64 levels") from None
    except ValueError as error:  # the interpreter's limit for the digits of one whole number
        raise RowRefused("number_too_long", str(error)) from None
    # No more brackets than levels: true of most rows, and found without looking at the value.
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth_exceeds(value, MAX_DEPTH):
        raise RowRefused("too_deep", "more than 64 levels")
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RowRefused(f"duplicate_key:{key}")
            seen.add(key)
    return value


def _constant(word: str) -> Json:
    raise RowRefused("not_finite", word)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise RowRefused("not_finite", f"{digits[:40]} is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def _depth_exceeds(value: Json, limit: int) -> bool:
    """Whether lists and objects are nested in more than `limit` levels; without recursion."""
    level: list[Json] = [value]
    for _ in range(limit + 1):
        level = [child for parent in level if isinstance(parent, dict | list) for child in _children(parent)]
        if not level:
            return False
    return True


def _children(parent: "dict[str, Json] | list[Json]") -> "list[Json]":
    """The members of a list or object, and one more, so that an empty one is a level too."""
    return [None, *(parent.values() if isinstance(parent, dict) else parent)]


_KINDS = ((bool, "a boolean"), (int | float, "a number"), (str, "a text"), (list, "a list"), (dict, "an object"))


def kind_of(value: Json) -> str:
    """What a value is, in words: `a number`."""
    return next((word for kind, word in _KINDS if isinstance(value, kind)), "null")


def without_nulls(value: Json) -> Json:
    """The value without the keys whose value is null (Arrow and parquet fill them in); members of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(child) for child in value]
    return value
