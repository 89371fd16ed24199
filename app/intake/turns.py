"""One item of a message list to a turn: keys, content parts and calls under the names that files give them."""

import json

from app.intake.draft import Turn
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, kind_of, read_text

MEDIA = ("images", "videos", "audios")
CALL_ROLES = frozenset({"function_call", "function-call"})
_PARTS = ("text", "reasoning", "tool_call")


def read_turns(items: Json, key: str = "messages", expected: str = "a list of messages") -> list[Turn]:
    """The turns of a list of `role`/`content` or `from`/`value` objects whose null keys are gone."""
    if not isinstance(items, list):
        raise RowRefused("unknown_format", f"`{key}` is {kind_of(items)}; expected {expected}")
    return [read_turn(item, number) for number, item in enumerate(items, 1)]


def read_turn(item: Json, number: int = 1) -> Turn:
    """One turn; content of another kind than text, nothing or a list of parts is no known format."""
    if not isinstance(item, dict):
        raise RowRefused(
            "unknown_format", f"message {number} is {kind_of(item)}; expected an object with role, content"
        )
    role = _role(item.get("role", item.get("from")))
    content = item.get("content", item.get("value"))
    if role in CALL_ROLES:
        return Turn(role, "", calls=read_calls(content))
    calls = read_calls(item.get("tool_calls"))
    multimodal = any(item.get(key) for key in MEDIA)
    reasoning = item.get("reasoning_content")
    said = reasoning if isinstance(reasoning, str) else ""
    if content is None or isinstance(content, str):
        return Turn(role, content or "", said, calls, _answers(item), multimodal)
    return _from_parts(Turn(role, "", said, calls, _answers(item), multimodal), content)


def read_calls(value: Json) -> tuple[Json, ...]:
    """Calls as they are written: a list, one object, or a JSON text of either. Whether they are sound comes later."""
    if value is None or value == "" or value == []:
        return ()
    if isinstance(value, str):
        try:
            value = read_text(value)
        except RowRefused:
            return (value,)  # refused as a bad call, if it is still there after the cuts
    return tuple(value) if isinstance(value, list) else (value,)


def _role(role: Json) -> str:
    return role if isinstance(role, str) else json.dumps(role)


def _answers(item: dict[str, Json]) -> str | None:
    """The call that a tool turn says it answers: `tool_call_id`, else the first of `tool_call_ids`."""
    named = item.get("tool_call_id")
    if named is None or named == "":
        several = item.get("tool_call_ids")
        named = several[0] if isinstance(several, list) and several else None
    return None if named is None or named == "" else str(named)


def _from_parts(turn: Turn, content: Json) -> Turn:
    """The turn with the parts of its content: texts joined by nothing, reasoning and calls where they belong."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise RowRefused("unknown_format", "a content is no text, null or list of parts")
    parts: list[dict[str, Json]] = [part for part in content if isinstance(part, dict)]
    return Turn(
        turn.role,
        "".join(_text(part) for part in parts if part.get("type") == "text"),
        turn.reasoning + "".join(_text(part) for part in parts if part.get("type") == "reasoning"),
        (
            *(call for part in parts if part.get("type") == "tool_call" for call in read_calls(_payload(part))),
            *turn.calls,
        ),
        turn.answers,
        turn.multimodal or any(part.get("type") not in _PARTS for part in parts),
    )


def _payload(part: dict[str, Json]) -> Json:
    """What a part holds: under `value`, or under a key of its type's name."""
    return part.get("value", part.get(str(part.get("type"))))


def _text(part: dict[str, Json]) -> str:
    text = _payload(part)
    if text is None:
        text = part.get("text", "")
    if not isinstance(text, str):
        raise RowRefused("unknown_format", "a content part holds no text")
    return text
