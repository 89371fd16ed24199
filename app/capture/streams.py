"""Chunks of a stream, joined into the body the server would have sent without streaming. Reading starts after that."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.capture.documents import refuse
from app.capture.flags import Flag

_TEXTS = ("reasoning_content", "reasoning", "thinking", "refusal")
_LISTS = ("reasoning_details", "thinking_blocks")
_IDS = ("response_token_ids", "token_ids", "prompt_token_ids")


@dataclass(slots=True)
class _Call:
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Choice:
    """One choice while it grows. A value of an unknown type is kept as it is, so that the message is judged by it."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    lists: dict[str, list[object]] = field(default_factory=dict)
    content: list[object] = field(default_factory=list)
    content_seen: bool = False
    content_in_parts: bool = False
    calls: dict[object, _Call] = field(default_factory=dict)
    others: dict[str, object] = field(default_factory=dict)
    ids: dict[str, object] = field(default_factory=dict)
    finish_reason: object = None


def join(chunks: Sequence[object]) -> dict[str, object]:
    """One body made of all chunks, by choice index; `error_chunk` or `bad_chunk` when one of them is no chunk."""
    objects = [chunk for chunk in chunks if isinstance(chunk, dict)]
    if any(chunk.get("error") or chunk.get("object") == "error" for chunk in objects):
        refuse(Flag.ERROR_CHUNK)
    if len(objects) != len(chunks):
        refuse(Flag.BAD_CHUNK)
    choices: dict[object, _Choice] = {}
    body: dict[str, object] = {}
    for chunk in objects:
        for key in ("usage", "model", "metadata", "prompt_token_ids"):
            if chunk.get(key) is not None:
                body[key] = chunk[key]
        for position, choice in enumerate(_choices(chunk)):
            _grow(choices, position, choice)
    body["choices"] = [_whole(index, choice) for index, choice in choices.items()]
    return body


def _choices(chunk: dict[str, object]) -> list[object]:
    choices = chunk.get("choices")
    if choices is None:
        return []
    return choices if isinstance(choices, list) else refuse(Flag.BAD_CONTENT_TYPE)


def _grow(choices: dict[object, _Choice], position: int, choice: object) -> None:
    if not isinstance(choice, dict):
        refuse(Flag.BAD_CONTENT_TYPE)
    index = choice.get("index")
    index = position if index is None else index
    if type(index) is not int:
        refuse(Flag.BAD_CONTENT_TYPE)
    grown = choices.setdefault(index, _Choice())
    delta = choice.get("delta")
    if delta is None:  # a proxy that sends the whole message as its only chunk
        delta = choice.get("message")
    if isinstance(delta, dict):
        _add_delta(grown, delta)
    elif delta is not None:
        refuse(Flag.BAD_CONTENT_TYPE)
    if choice.get("finish_reason") not in (None, ""):
        grown.finish_reason = choice["finish_reason"]
    for key in _IDS:
        _extend(grown.ids, key, choice.get(key))


def _add_delta(grown: _Choice, delta: dict[str, object]) -> None:
    _add_content(grown, delta.get("content"))
    for key in _TEXTS:
        value = delta.get(key)
        if isinstance(value, str):
            grown.texts.setdefault(key, []).append(value)
        elif value is not None:
            grown.others[key] = value
    for key in _LISTS:
        value = delta.get(key)
        if isinstance(value, list):
            grown.lists.setdefault(key, []).extend(value)
        elif value is not None:
            grown.others[key] = value
    if delta.get("function_call") is not None:
        grown.others["function_call"] = delta["function_call"]
    _add_calls(grown, delta.get("tool_calls"))


def _add_content(grown: _Choice, value: object) -> None:
    if isinstance(value, str):
        grown.content.append(value)
        grown.content_seen = True
    elif isinstance(value, list):
        grown.content.extend(value)
        grown.content_in_parts = True
    elif value is not None:
        grown.others["content"] = value


def _add_calls(grown: _Choice, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, list):
        grown.others["tool_calls"] = value
        return
    for call in value:
        if not isinstance(call, dict):
            refuse(Flag.BAD_CONTENT_TYPE)
        _merge_call(grown.calls, call)


def _merge_call(calls: dict[object, _Call], call: dict[str, object]) -> None:
    """Add a fragment to the call of its index; without one, to the call of its id, and without that to the last."""
    key = call.get("index")
    if key is None:
        key = call.get("id") or next(reversed(calls), 0)
    if type(key) not in (int, str):
        refuse(Flag.BAD_CONTENT_TYPE)
    merged = calls.setdefault(key, _Call())
    function = call.get("function")
    if isinstance(function, dict):
        _append(merged.name, function.get("name"))
        _append(merged.arguments, function.get("arguments"))


def _append(pieces: list[str], value: object) -> None:
    if isinstance(value, str):
        pieces.append(value)


def _extend(ids: dict[str, object], key: str, value: object) -> None:
    if isinstance(value, list):
        known = ids.setdefault(key, [])
        if isinstance(known, list):
            known.extend(value)


def _whole(index: object, grown: _Choice) -> dict[str, object]:
    message: dict[str, object] = {key: "".join(pieces) for key, pieces in grown.texts.items()}
    message.update(grown.lists)
    if grown.content_in_parts:
        message["content"] = grown.content
    elif grown.content_seen:
        message["content"] = "".join(str(piece) for piece in grown.content)
    if grown.calls:
        message["tool_calls"] = [_function(call) for call in grown.calls.values()]
    message.update(grown.others)
    return {"index": index, "message": message, "finish_reason": grown.finish_reason, **grown.ids}


def _function(call: _Call) -> dict[str, object]:
    return {"type": "function", "function": {"name": "".join(call.name), "arguments": "".join(call.arguments)}}
