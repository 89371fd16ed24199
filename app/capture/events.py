"""Server-sent events: from a verbatim stream to its chunks, by the rules of the HTML standard (section 9.2.6)."""

import re
from collections.abc import Iterator

from app.capture.documents import Malformed, decode, parse, refuse
from app.capture.flags import Flag

# Only these three end a line. `str.splitlines` would also cut at U+2028, which JSON may hold unescaped.
_LINE_END = re.compile(r"\r\n|\n|\r")
_DONE = "[DONE]"
_LEADS = tuple(bytes((first,)) for first in range(0xC2, 0xF5))  # the first byte of a longer character


def chunks(body: bytes) -> list[object]:
    """The chunks of a stream up to `[DONE]`. An event that is no JSON object stays the string it is.

    `not_json` when there is no event at all. An unfinished event at the end is left out, unless it is whole but for
    the closing blank line.
    """
    found: list[object] = []
    seen = False
    for name, data, finished in _events(_stream_text(body)):
        seen = True
        if data.strip() == _DONE:
            break
        value = _value(data)
        if finished or not isinstance(value, str):
            found.append({"error": value or name} if name == "error" else value)
    return found if seen else refuse(Flag.NOT_JSON)


def _stream_text(body: bytes) -> str:
    """The text, without a character that the connection cut in two."""
    try:
        return decode(body)
    except Malformed:
        last = max(body.rfind(lead, -3) for lead in _LEADS)
        return decode(body[:last] if last >= 0 else body)


def _value(data: str) -> object:
    """The object that a chunk is; anything else as the text it came in."""
    try:
        return parse(data) if data.lstrip().startswith("{") else data
    except Malformed:
        return data


def _events(text: str) -> Iterator[tuple[str, str, bool]]:
    """Name, data and whether the event was finished by a blank line, for each event that has data."""
    name, data = "", list[str]()
    for line in _LINE_END.split(text) if "\r" in text else text.split("\n"):
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif field == "error":  # llama.cpp once named the field itself so
                name = field
                data.append(value)
        else:
            if data:
                yield name, "\n".join(data), True
            name, data = "", []
    if data:
        yield name, "\n".join(data), False
