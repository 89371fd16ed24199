"""Tools and tool calls: one form for what files write in several, ids for the calls, results tied to them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, read_text

Object = dict[str, Json]


def read_tools(value: Json) -> list[Json] | None:
    """The tools as `{"type", "function"}` objects; None for none at all."""
    if isinstance(value, str) and value:
        try:
            value = read_text(value)
        except RowRefused as refused:
            raise RowRefused("bad_tools", f"{refused.reason} {refused.detail}".strip()) from None
    elif value is None or value == "":
        return None
    if not isinstance(value, list):
        raise RowRefused("bad_tools", "no list")
    tools: list[Json] = [_tool(member) for member in value]
    _refuse_twins([name_of(tool) for tool in tools])
    return tools or None


def name_of(tool: Json) -> str:
    """The name of a tool in the form that read_tools gives."""
    assert isinstance(tool, dict)
    function = tool["function"]
    assert isinstance(function, dict)
    return str(function["name"])


def _tool(member: Json) -> Object:
    if not isinstance(member, dict):
        raise RowRefused("bad_tools", "a member is no object")
    function = member.get("function")
    wrapped: Object = member if isinstance(function, dict) else {"type": "function", "function": member}
    inner = wrapped["function"]
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(name, str) or not name:
        raise RowRefused("bad_tools", "a member has no name")
    return wrapped if "type" in wrapped else {"type": "function", **wrapped}


def _refuse_twins(names: list[str]) -> None:
    if len(set(names)) != len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise RowRefused("duplicate_tool_name", twin)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the history; without an id of its own it gets one from its place."""

    name: str
    arguments: str
    id: str | None

    def to_json(self, call_id: str) -> Object:
        return {"id": call_id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


def read_call(raw: Json) -> Call:
    """A call from `{"function": {...}}` or bare `{"name", "arguments"}`."""
    if not isinstance(raw, dict):
        raise RowRefused("bad_tool_call", "a call is no object")
    inner = raw.get("function", raw)
    function = inner if isinstance(inner, dict) else {}
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise RowRefused("bad_tool_call", "a call has no name")
    call_id = raw.get("id")
    own_id = None if call_id is None or call_id == "" else str(call_id)
    return Call(name, _arguments(name, function.get("arguments")), own_id)


def _arguments(name: str, arguments: Json) -> str:
    """A string stays byte for byte; an object is written out in its own key order."""
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    if not isinstance(arguments, str) or not _holds_object(arguments):
        raise RowRefused("bad_tool_call", f"the arguments of {name} are no JSON object")
    return arguments


def _holds_object(text: str) -> bool:
    """Whether a text is a JSON object. It is passed on as it stands, so a key may be there twice."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def refuse_undeclared(calls: Sequence[Call], tools: list[Json] | None) -> None:
    """Every call names one of the row's tools; a row without tools is not asked."""
    if tools is None:
        return
    declared = {name_of(tool) for tool in tools}
    for call in calls:
        if call.name not in declared:
            raise RowRefused("undeclared_tool", call.name)
