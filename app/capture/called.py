"""What of an answer goes into the history that the next turn is asked with: its content, thought and tool calls."""

from typing import Any

from app.capture.asked import Form
from app.capture.documents import Malformed
from app.capture.read import opened
from app.capture.tools import named_calls
from app.model.conversation import Message, Said


def said(body: bytes, form: Form, reasoning: str | None, content: str | None, tool_calls: int | None) -> Said:
    """A body and what was read in it as an answer in a conversation. Calls that stand in the text stay there."""
    text = "" if content is None else content  # an answer that only calls has none, and a message needs one
    in_field = [] if tool_calls is None else calls_of(body, form)
    if not in_field:
        return Said(text, reasoning, (), tuple(named_calls(text)))
    calls = [_named(call, place) for place, call in enumerate(in_field)]
    return Said(text, reasoning, calls, tuple((call["function"]["name"], call["id"]) for call in calls))


def calls_of(body: bytes, form: Form) -> list[Any]:
    """The tool calls that came in a field, of the choice that a reading speaks of, as the server sent them."""
    message = _message(body, form)
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return calls
    call = message.get("function_call")
    return [] if call is None else [{"type": "function", "function": call}]


def _message(body: bytes, form: Form) -> dict[str, Any]:
    """The message of the choice with the lowest index; a body that is none has an empty one."""
    try:
        value = opened(body, form)
    except Malformed:
        return {}
    raw = value.get("choices") if isinstance(value, dict) else None
    choices = [choice for choice in raw if isinstance(choice, dict)] if isinstance(raw, list) else []
    first = min(enumerate(choices), key=lambda pair: pair[1].get("index", pair[0]), default=(0, {}))[1]
    message = first.get("message")
    return message if isinstance(message, dict) else {}


def _named(call: Any, place: int) -> Message:
    """A call that has a name and an id, as the message of its result needs them."""
    known = call if isinstance(call, dict) else {}
    function = known.get("function")
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    name = name if isinstance(name, str) else ""
    call_id = known.get("id")
    made = call_id if isinstance(call_id, str) and call_id else f"functions.{name}:{place}"
    return {**known, "id": made, "type": "function", "function": {**function, "name": name}}
