"""Chunks of a stream, joined into the body the server would have sent without streaming. Reading starts after that."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.capture.calls import Calls
from app.capture.documents import refuse
from app.capture.envelope import MAX_CHOICES
from app.capture.flags import Flag

_TEXTS = frozenset(("reasoning_content", "reasoning", "thinking", "refusal"))
_LISTS = frozenset(("reasoning_details", "thinking_blocks"))
_IDS = ("response_token_ids", "token_ids", "prompt_token_ids")
_BESIDE = frozenset(("usage", "model", "metadata", "prompt_token_ids"))
_OF_CHUNK = frozenset((*_BESIDE, "choices", "error", "object"))
_OF_CHOICE = frozenset((*_IDS, "index", "delta", "message", "finish_reason"))


@dataclass(slots=True)
class _Choice:
    """One choice while it grows. A value of an unknown type is kept as it is, so that the message is judged by it."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    lists: dict[str, list[object]] = field(default_factory=dict)
    content: list[object] = field(default_factory=list)
    content_seen: bool = False
    content_in_parts: bool = False
    calls: Calls = field(default_factory=Calls)
    others: dict[str, object] = field(default_factory=dict)
    ids: dict[str, object] = field(default_factory=dict)
    finish_reason: object = None


def join(chunks: Sequence[object]) -> dict[str, object]:
    """One body made of all chunks, by choice index; `error_chunk` or `bad_chunk` when one of them is no chunk."""
    objects = [chunk for chunk in chunks if isinstance(chunk, dict)]
    telling = [chunk for chunk in objects if not _OF_CHUNK.isdisjoint(chunk)]
    named = [chunk for chunk in telling if "error" in chunk or "object" in chunk]
    if any(chunk.get("error") or chunk.get("object") == "error" for chunk in named):
        refuse(Flag.ERROR_CHUNK)
    if len(objects) != len(chunks):
        refuse(Flag.BAD_CHUNK)
    choices: dict[object, _Choice] = {}
    body: dict[str, object] = {}
    for chunk in telling:
        if not _BESIDE.isdisjoint(chunk):
            body.update({key: chunk[key] for key in _BESIDE if chunk.get(key) is not None})
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
    grown = choices.get(index)
    if grown is None:
        grown = choices[index] = _Choice() if len(choices) < MAX_CHOICES else refuse(Flag.BAD_CONTENT_TYPE)
    if not _OF_CHOICE.isdisjoint(choice):
        _add(grown, choice)


def _add(grown: _Choice, choice: dict[str, object]) -> None:
    delta = choice.get("delta")
    if delta is None:  # a proxy that sends the whole message as its only chunk
        delta = choice.get("message")
    if isinstance(delta, dict):
        for key, value in delta.items():
            if value is not None:
                _add_value(grown, key, value)
    elif delta is not None:
        refuse(Flag.BAD_CONTENT_TYPE)
    if choice.get("finish_reason") not in (None, ""):
        grown.finish_reason = choice["finish_reason"]
    for key in _IDS:
        if key in choice:
            _extend(grown.ids, key, choice[key])


def _add_value(grown: _Choice, key: str, value: object) -> None:
    """Strings are appended and lists extended, each to its own key; other keys say nothing of the answer."""
    if key == "content":
        _add_content(grown, value)
    elif key in _TEXTS and isinstance(value, str):
        grown.texts.setdefault(key, []).append(value)
    elif key in _LISTS and isinstance(value, list):
        grown.lists.setdefault(key, []).extend(value)
    elif key == "tool_calls" and isinstance(value, list):
        grown.calls.add(value)
    elif key in _TEXTS or key in _LISTS or key in ("tool_calls", "function_call"):
        grown.others[key] = value


def _add_content(grown: _Choice, value: object) -> None:
    if isinstance(value, str):
        grown.content.append(value)
        grown.content_seen = True
    elif isinstance(value, list):
        grown.content.extend(value)
        grown.content_in_parts = True
    else:
        grown.others["content"] = value


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
    calls = grown.calls.whole()
    if calls:
        message["tool_calls"] = calls
    message.update(grown.others)
    return {"index": index, "message": message, "finish_reason": grown.finish_reason, **grown.ids}
