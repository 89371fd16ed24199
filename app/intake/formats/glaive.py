"""glaive-function-calling-v2: functions in the system text, turns and calls in one text with markers."""

import json
import re
from collections.abc import Iterator

from app.intake.draft import Draft, Turn
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, read_first, without_nulls
from app.intake.tools import read_tools
from app.intake.turns import CALL_ROLES, read_turns

Row = dict[str, Json]

_ROLES = {"USER": "user", "ASSISTANT": "assistant", "FUNCTION RESPONSE": "tool"}
_NAMES = "|".join(_ROLES)
_MARKER = re.compile(rf"(?:\A|\n\n+)({_NAMES}):")
_AFTER_ONE_NEWLINE = re.compile(rf"(?:\A|(?<!\n))\n(?:{_NAMES}):")
_SPACE = re.compile(r"\s*")
_CALL_TAG = "<functioncall>"
_CALL = re.compile(r"""\s*\{"name": "([^"\n]*)", "arguments": '(.*)'\}\s*""", re.DOTALL)
_LEAD_IN = "SYSTEM: "


def read_glaive(row: Row) -> Draft:
    """`{"system", "chat"}` as published."""
    system, chat = _text(row["system"], "system"), _text(row["chat"], "chat")
    functions = _functions(system)
    read_tools(functions)  # refused before the turns are looked at
    turns = list(_turns(chat))
    if not functions and (spoken := system.removeprefix(_LEAD_IN).strip()):
        turns.insert(0, Turn("system", spoken))
    return Draft(turns, functions)


def read_functions(row: Row) -> Draft:
    """`{"system_message", "function_description", "conversations"}`: the same data as a list of turns."""
    functions = _functions(_text(row["function_description"], "function_description"))
    read_tools(functions)
    turns = [_with_call(turn) for turn in read_turns(without_nulls(_called(row["conversations"])))]
    return Draft([turn for turn in turns if turn.role != "system" or not functions], functions)


def _text(value: Json, key: str) -> str:
    if not isinstance(value, str):
        raise RowRefused("unknown_format", f"{key} is no text")
    return value


def _functions(system: str) -> list[Json]:
    """The objects from the first brace to the end, with only white space between them."""
    start = system.find("{")
    found: list[Json] = []
    while 0 <= start < len(system):
        try:
            function, end = read_first(system, start)
        except RowRefused as refused:
            raise RowRefused("bad_tools", f"{refused.reason} {refused.detail}".strip()) from None
        if not isinstance(function, dict):
            raise RowRefused("bad_tools", "a function is no object")
        found.append(without_nulls(function))
        start = _SPACE.match(system, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    return found


def _turns(chat: str) -> Iterator[Turn]:
    markers = list(_MARKER.finditer(chat))
    if _AFTER_ONE_NEWLINE.search(chat) or chat[: markers[0].start() if markers else None].strip("\n"):
        raise RowRefused("damaged_turn_marker")
    ends = [*(marker.start() for marker in markers[1:]), len(chat)]
    for marker, end in zip(markers, ends, strict=True):
        yield _turn(_ROLES[marker[1]], _spoken(chat[marker.end() : end]))


def _spoken(text: str) -> str:
    """A turn's text without the white space and the end mark that belong to the markers."""
    begun = text[1:] if text[:1] in (" ", "\n") else text
    return begun[: _end(begun)]


def _end(text: str) -> int:
    """Where the end mark and the white space that belongs to it begin; found from the end, in linear time."""
    bare = text.rstrip("\n")
    marked = bare.removesuffix("<|endoftext|>")
    return len(bare) if marked == bare else len(marked.rstrip())


def _turn(role: str, text: str) -> Turn:
    if role != "assistant" or _CALL_TAG not in text:
        return Turn(role, text)
    said, _, call = text.partition(_CALL_TAG)
    return Turn(role, said.rstrip("\n"), calls=(_call(call),))


def _call(text: str) -> Json:
    """The call that a text is. Any other text stays one, and is refused as a bad call if no cut takes it away."""
    found = _CALL.fullmatch(text)
    return {"name": found[1], "arguments": found[2]} if found else text


def _called(conversations: Json) -> Json:
    """The turns with the calls in them as JSON lists, so that they are read like other calls."""
    if not isinstance(conversations, list):
        return conversations
    return [_as_list(item) if isinstance(item, dict) else item for item in conversations]


def _as_list(item: Row) -> Row:
    value = item.get("value")
    if item.get("from") not in CALL_ROLES or not isinstance(value, str):
        return item
    call = _call(value)
    return {**item, "value": json.dumps([call])} if isinstance(call, dict) else item


def _with_call(turn: Turn) -> Turn:
    """An answer of several kinds: the call may stand inside its text as well."""
    return _turn(turn.role, turn.text) if turn.role in ("gpt", "assistant") and not turn.calls else turn
