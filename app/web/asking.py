"""What a request says: its query and its form, each key known, said once and within bounds."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from urllib.parse import parse_qsl

from app.model.errors import NotFound, UsageError
from app.web.answers import Asked

LONGEST_QUERY = 8 * 1024
LONGEST_VALUE = 2_000
MOST_FIELDS = 40
LARGEST = 2**53

Word = TypeVar("Word", bound=StrEnum)


def row_number(number: int, noun: str) -> int:
    """The number of an address as one that a row may have; SQLite takes none beyond 64 bits."""
    if not 0 <= number <= LARGEST:
        raise NotFound(f"There is no {noun} {str(number)[:40]}.")
    return number


@dataclass(frozen=True, slots=True)
class Said:
    """Keys with their texts. An empty text is an untouched field of a form and says nothing."""

    values: Mapping[str, str]

    def text(self, key: str) -> str | None:
        """What was said of a key, or None."""
        return self.values.get(key)

    def needed(self, key: str) -> str:
        """What must be said."""
        value = self.values.get(key)
        if value is None:
            raise UsageError(f"{key} is missing.")
        return value

    def number(self, key: str, least: int = 0, most: int = LARGEST) -> int | None:
        """A whole number within bounds, or None."""
        value = self.values.get(key)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= 16 and least <= int(value) <= most):
            raise UsageError(f"{key} is a whole number from {least:,} to {most:,}, not {value[:40]!r}.")
        return int(value)

    def flag(self, key: str, *, unsaid: bool = False) -> bool:
        """Yes or no."""
        value = self.values.get(key)
        if value is None:
            return unsaid
        if value not in ("0", "1", "true", "false"):
            raise UsageError(f"{key} is 1 or 0, not {value[:40]!r}.")
        return value in ("1", "true")

    def word(self, key: str, words: type[Word]) -> Word | None:
        """One of some words, or None."""
        value = self.values.get(key)
        if value is not None and value not in set(words):
            raise UsageError(f"There is no {key} {value[:40]!r}. Known: {', '.join(words)}.")
        return None if value is None else words(value)

    def several(self, key: str, words: type[Word]) -> tuple[Word, ...]:
        """Some of the words, with commas between them."""
        found = []
        for value in self.values.get(key, "").split(","):
            if value and value not in set(words):
                raise UsageError(f"There is no {key} {value[:40]!r}. Known: {', '.join(words)}.")
            found += [words(value)] if value else []
        return tuple(dict.fromkeys(found))


def query(request: Asked, *known: str) -> Said:
    """The query of an address."""
    raw = request.scope["query_string"]
    if len(raw) > LONGEST_QUERY:
        raise UsageError(f"The query is longer than {LONGEST_QUERY:,} bytes.")
    return _checked(_pairs(raw), known)


async def form(request: Asked, *known: str) -> Said:
    """What a form or a JSON object says."""
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _checked(_members(body), known)
    if body and kind != "application/x-www-form-urlencoded":
        raise UsageError("Send application/json or application/x-www-form-urlencoded.")
    return _checked(_pairs(body), known)


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise UsageError("This cannot be read: fields are percent-encoded UTF-8, forty at most.") from error


def _members(body: bytes) -> list[tuple[str, str]]:
    try:
        found = json.loads(body, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise UsageError("The body is no JSON object.") from error
    if not isinstance(found, list) or not all(isinstance(one, tuple) for one in found):
        raise UsageError("The body is no JSON object.")
    return [(key, _as_text(key, value)) for key, value in found if value is not None]


def _as_text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if not isinstance(value, str | int):
        raise UsageError(f"{key} is a text, a whole number, true or false.")
    return str(value)


def _checked(pairs: list[tuple[str, str]], known: Collection[str]) -> Said:
    found: dict[str, str] = {}
    for key, value in pairs:
        if key not in known:
            raise UsageError(f"{key[:40]!r} is not known here. Known: {', '.join(known) or 'nothing'}.")
        if key in found:
            raise UsageError(f"{key} is said twice.")
        if len(value) > LONGEST_VALUE:
            raise UsageError(f"{key} is longer than {LONGEST_VALUE:,} characters.")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise UsageError(f"{key} is no text.")
        found[key] = value
    return Said({key: value for key, value in found.items() if value != ""})
