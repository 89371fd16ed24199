"""A body as one line of JSON with the request that it answers, and its reading as another: `thinkledger parse`."""

import json
from dataclasses import dataclass

from app.capture.asked import Asked, Form
from app.capture.profiles import PROFILES
from app.capture.read import read_body, read_chunks
from app.capture.reading import ChoiceReading, Reading

BODIES = ("body", "chunks", "body_raw")  # a JSON body, the chunks of a stream, or the text of any body
Object = dict[str, object]


class LineRefused(Exception):
    """A line that is no case; its text says what was expected."""


@dataclass(frozen=True, slots=True)
class Case:
    """A body and what its reading depends on; `id` is None where the line has none."""

    id: object | None
    http_status: int | None
    asked: Asked
    body: bytes | list[object]  # a list holds the chunks of a stream

    def read(self) -> Reading:
        """What the parser makes of it."""
        if isinstance(self.body, list):
            return read_chunks(self.http_status, self.body, self.asked)
        return read_body(self.http_status, self.body, self.asked)


def read_case(line: bytes) -> Case:
    """The case that a line holds, or LineRefused."""
    row = _object(line)
    given = [key for key in BODIES if key in row]
    if len(given) != 1:
        found = f"found {' and '.join(given)}" if given else f"found the keys {', '.join(row)[:200]}"
        raise LineRefused(f"expected one of body, chunks and body_raw; {found}")
    request = row.get("request")
    if request is not None and not isinstance(request, dict):
        raise LineRefused('expected "request" as an object')
    status = row.get("http_status", 200)
    if status is not None and type(status) is not int:
        raise LineRefused('expected "http_status" as a whole number or null')
    return Case(row.get("id"), status, _asked(request or {}), _body(given[0], row[given[0]]))


def _object(line: bytes) -> Object:
    try:
        row = json.loads(line.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise LineRefused("expected UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise LineRefused(f"expected one JSON object on the line: {error}") from None
    if not isinstance(row, dict):
        raise LineRefused("expected one JSON object on the line")
    return row


def _asked(request: Object) -> Asked:
    thinking, profile, prompt = request.get("thinking"), request.get("profile"), request.get("prompt")
    if thinking is not None and not isinstance(thinking, bool):
        raise LineRefused('expected "thinking" as true, false or null')
    if profile is not None and (not isinstance(profile, str) or profile not in PROFILES):
        raise LineRefused(f'expected "profile" as one of {", ".join(PROFILES)}')
    if prompt is not None and not isinstance(prompt, str):
        raise LineRefused('expected "prompt" as a text')
    form = Form.SSE if request.get("stream") is True else Form.CHAT
    return Asked(thinking=thinking, profile=profile or "think", prompt=prompt or "", form=form)


def _body(key: str, value: object) -> bytes | list[object]:
    if key == "chunks":
        if not isinstance(value, list):
            raise LineRefused('expected "chunks" as a list')
        return value
    if key == "body":
        try:
            return json.dumps(value).encode()
        except RecursionError:
            raise LineRefused('expected "body" with fewer levels of lists and objects') from None
    if not isinstance(value, str):
        raise LineRefused('expected "body_raw" as a text')
    return value.encode("utf-8", "surrogatepass")


def reading_line(case: Case, reading: Reading) -> bytes:
    """A reading as one line; half a surrogate pair stands as its escape."""
    row: Object = {} if case.id is None else {"id": case.id}
    row |= _columns(reading) | {"flags": sorted(reading.flags)}
    if reading.parts is not None:
        row["rejoin"] = list(reading.parts)
    if len(reading.choices) > 1:
        row["all"] = [{"index": choice.index} | _columns(choice) for choice in reading.choices]
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _columns(reading: Reading | ChoiceReading) -> Object:
    return {
        "reasoning": reading.reasoning,
        "content": reading.content,
        "tool_calls": reading.tool_calls,
        "verdict": reading.verdict,
    }
