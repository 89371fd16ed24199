"""Server-sent events: from a verbatim stream to its chunks, by the rules of the HTML standard (section 9.2.6)."""

import re
from collections.abc import Iterator

from app.capture.documents import MAX_DEPTH, Malformed, decode, load, parse, refuse, too_dense
from app.capture.flags import Flag

# Events of one line of data each, as every server sends them; each value ends where the next `data:` begins.
_PLAIN = re.compile(r"(?:data:[^\n]*\n\n)*+")
_LAST = re.compile(r"^data:[^\n\[]*\[DONE\][^\n]*\n\n", re.MULTILINE)
# What counts of other events. The lines of one event follow each other; all other fields are skipped.
_FIELD = re.compile(r"(?:\A|(?<=\n))(data|event|error)(?:: ?([^\n]*)|(?=\n|\Z))")
_SKIPPED = re.compile(r"^(?!data)[^\n]+\n", re.MULTILINE)  # where no event is named `error`
_SEVERAL_BLANK = re.compile(r"\n{3,}")
_BLANK = re.compile(r"\n\n+")
_SEAM = "\n\n"  # no data holds it: an event has no blank line, though its data may
_ERROR = "error"
_DONE = "[DONE]"
_LEADS = tuple(bytes((first,)) for first in range(0xC2, 0xF5))  # the first byte of a longer character


def chunks(body: bytes) -> list[object]:
    """The chunks of a stream up to `[DONE]`. An event that is no JSON object stays the string it is.

    `not_json` when there is no event at all. An unfinished event at the end is left out, unless it is whole but for
    the closing blank line.
    """
    # Only these three end a line. `str.splitlines` would also cut at U+2028, which JSON may hold unescaped.
    text = _stream_text(body).replace("\r\n", "\n").replace("\r", "\n")
    plain = _plain(text)
    if plain is None and _ERROR not in text:
        plain = _plain(_SEVERAL_BLANK.sub("\n\n", _SKIPPED.sub("", text)).lstrip("\n"))
    return _any(text) if plain is None else plain


def _stream_text(body: bytes) -> str:
    """The text, without a character that the connection cut in two."""
    try:
        return decode(body)
    except Malformed:
        last = max(body.rfind(lead, -3) for lead in _LEADS)
        return decode(body[:last] if last >= 0 else body)


def _plain(text: str) -> list[object] | None:
    """The chunks of a stream of nothing but objects on one line of data each, decoded at once; None for others.

    A string that the text does not hold stands between them, so that none can end in another than its own event.
    """
    last = _LAST.search(text)
    if last is not None:
        if last.group()[5:].strip() != _DONE:
            return None
        text = text[: last.start()]
    if not text or _PLAIN.fullmatch(text) is None:
        return None
    return _objects(text[5:], "\n\ndata:", text.count("\n\ndata:") + 1)


def _objects(text: str, seam: str, count: int) -> list[object] | None:
    """So many objects between the seams, all read by one call; None when one of them is no object.

    A string that the text does not hold is put between them, so that none can end in another than its own event.
    """
    pieces, between = text.split(seam), _absent(text)
    joined = "[" + f',"{between}",'.join(pieces) + "]"
    if too_dense(joined):
        refuse(Flag.NOT_JSON)
    # A level takes two characters, so only a long event can be too deep.
    deep = max(map(len, pieces)) > 2 * MAX_DEPTH
    try:
        values = parse(joined, depth=1) if deep else load(joined)
    except Malformed:
        values = None
    if isinstance(values, list):
        found: list[object] = values[::2]
        if values[1::2] == [between] * (count - 1) and [type(value) for value in found] == [dict] * count:
            return found
    return None if _ERROR in text or "\\" in text else refuse(Flag.BAD_CHUNK)


def _absent(text: str) -> str:
    """A string of digits that does not stand in the text."""
    number = 0
    while str(number) in text:
        number = number * 10 + 7
    return str(number)


def _any(text: str) -> list[object]:
    """The chunks of any stream."""
    found = list[str]()
    seen = False
    for name, data, finished in _events(text):
        seen = True
        if _DONE in data and data.strip() == _DONE:
            break
        if finished or not isinstance(_value(data), str):
            found.append(data)
            if name == _ERROR:
                refuse(Flag.ERROR_CHUNK)
    if not found:
        return [] if seen else refuse(Flag.NOT_JSON)
    values = _objects(_SEAM.join(found), _SEAM, len(found))
    return [_value(data) for data in found] if values is None else values


def _value(data: str) -> object:
    """The object that a chunk is; anything else as the text it came in."""
    try:
        return parse(data) if data.lstrip().startswith("{") and data.rstrip().endswith("}") else data
    except Malformed:
        return data


def _events(text: str) -> Iterator[tuple[str, str, bool]]:
    """Name, data and whether the event was finished by a blank line, for each event that has data."""
    blocks = _BLANK.split(text)
    last, ended = len(blocks) - 1, text.endswith("\n")
    for number, block in enumerate(blocks):
        if "\n" not in block:
            field, _, value = block.partition(":")
            if field == "data" or field == _ERROR:
                yield field, value.removeprefix(" "), number < last or ended
            continue
        name, data = "", list[str]()
        for field, value in _FIELD.findall(block):
            if field == "event":
                name = value
            else:
                data.append(value)
                if field == _ERROR:  # llama.cpp once named the field itself so
                    name = field
        if data:
            yield name, "\n".join(data), number < last or ended
