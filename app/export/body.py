"""What an export takes from the body itself, since no column holds it: usage and tool calls as the server sent them."""

import json
from typing import Any

import msgspec

from app.capture import Form, calls_of, documents, events, streams
from app.capture.documents import Malformed
from app.model.errors import IntegrityFailure
from app.model.ids import ResponseId


class _Outside(msgspec.Struct):
    """A body of which only `usage` is looked at; skipping the rest costs a fifth of parsing it."""

    usage: msgspec.Raw = msgspec.Raw(b"null")


_outside = msgspec.json.Decoder(_Outside)


def usage_of(response: ResponseId, form: str, body: bytes) -> Any:
    """The `usage` value; None where the body has none."""
    if form != Form.SSE:
        try:
            return json.loads(bytes(_outside.decode(body).usage))
        except (msgspec.MsgspecError, ValueError):
            pass  # a byte order mark, NaN, an encoded lone surrogate: the parser that judged the body reads it too
    return open_body(response, form, body).get("usage")


def tool_calls_of(form: str, body: bytes) -> list[Any] | None:
    """The tool calls of the first choice that came in a field; None when there is none, or only markup in the text."""
    return calls_of(body, Form(form)) or None


def open_body(response: ResponseId, form: str, body: bytes) -> dict[str, Any]:
    """The body as an object; an event stream is joined into the body that it stands for."""
    try:
        if form == Form.SSE and not body.lstrip().startswith(b"{"):
            return streams.join(events.chunks(body))
        value = documents.parse(documents.decode(body))
    except Malformed as error:
        raise _unreadable(response) from error
    if not isinstance(value, dict):
        raise _unreadable(response)
    return value


def _unreadable(response: ResponseId) -> IntegrityFailure:
    return IntegrityFailure(
        f"Response {response} was accepted as an answer, and its stored body is none. Run `thinkledger verify`."
    )
