"""Who a row is: its own id where it has one, else its content's hash."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from app.intake.refusal import RowRefused
from app.intake.strict_json import Json

ID_FIELDS = ("sample_id", "id", "uuid", "custom_id", "prompt_id", "question_id", "instance_id")
HASH_DIGITS = 16
LONGEST_ID = 1024  # bytes: a row of an index takes 2,700 on PostgreSQL, where NUL takes two


class Origin(StrEnum):
    """Where an id comes from; it decides what other content under the same id means."""

    EXPLICIT = "explicit"  # the row's own: other content under it is an error
    PROMPT = "prompt_id"  # repeats by design, so other content gets the next number
    CONTENT = "content"  # made of the content's hash


@dataclass(frozen=True, slots=True)
class Identity:
    """The id before any number is added, and the hash of what is asked."""

    base_id: str
    origin: Origin
    content_sha256: str


def identify(
    row: dict[str, Json], messages: list[Json], tools: list[Json] | None, id_field: str | None = None
) -> Identity:
    """The identity of a row; `id_field` names the only field that may give its id."""
    content = content_sha256(messages, tools)
    for field in ID_FIELDS if id_field is None else (id_field,):
        value = row.get(field)
        if value is not None and value != "":
            origin = Origin.PROMPT if field == "prompt_id" else Origin.EXPLICIT
            return Identity(_checked(_as_text(value)), origin, content)
    if id_field is not None:
        raise RowRefused("no_id", id_field)
    return Identity(content[:HASH_DIGITS], Origin.CONTENT, content)


def _checked(base_id: str) -> str:
    bytes_ = len(base_id.encode(errors="surrogatepass"))  # half of a pair is found and refused with the rest of the row
    if bytes_ > LONGEST_ID:
        raise RowRefused("id_too_long", f"{bytes_:,} bytes")
    return base_id


def content_sha256(messages: list[Json], tools: list[Json] | None) -> str:
    """The hash of what is asked, whatever the order of keys in the file."""
    content: Json = {"messages": messages, "tools": tools}
    return hashlib.sha256(_canonical_texts(content) if tools is None else canonical_json(content)).hexdigest()


def _canonical_texts(value: Json) -> bytes:
    """`canonical_json` of a value without numbers, in a tenth of the time; with them the two libraries differ."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:
        return canonical_json(value)


def canonical_json(value: Json) -> bytes:
    """UTF-8 JSON with keys sorted by code point and no spaces; a lone surrogate stands as its escape."""
    return _CANONICAL.encode(value).encode("utf-8", "backslashreplace")


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else _CANONICAL.encode(value)
