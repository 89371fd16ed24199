"""What a message holds: content, every text that could be the thought, and tool calls. Types are checked here."""

from dataclasses import dataclass

from app.capture.documents import refuse
from app.capture.flags import Flag

_FIELDS = ("reasoning_content", "reasoning", "thinking")
_TEXT_PARTS = ("text", "output_text")
_SKIPPED = ("encrypted", "redacted")  # OpenRouter `reasoning.encrypted`, Anthropic `redacted_thinking`


@dataclass(frozen=True, slots=True)
class Message:
    """A message with known types. Content is None only where the server sent null or nothing."""

    content: str | None
    thoughts: tuple[str, ...]  # in the order of precedence; absent ones are left out
    tool_calls: int | None  # what the server parsed out of the text; None when nothing
    call_chars: int  # of their names and arguments
    flags: frozenset[Flag]

    @property
    def visible_chars(self) -> int:
        """Characters of content, thought and tool calls, as they were sent. Copies of a thought count once."""
        content = 0 if self.content is None else len(self.content)
        return content + max(map(len, self.thoughts), default=0) + self.call_chars


@dataclass(frozen=True, slots=True)
class _Content:
    text: str | None
    thought: str | None = None
    unknown_part: bool = False


def open_message(message: object) -> Message:
    """The message of a choice. Unknown types of content come before those of reasoning."""
    if not isinstance(message, dict):
        refuse(Flag.NO_MESSAGE)
    content = _content(message.get("content"))
    thoughts = [*_fields(message), _details(message), _blocks(message), content.thought]
    flags = set[Flag]()
    if content.unknown_part:
        flags.add(Flag.UNKNOWN_PART)
    if _string(message.get("refusal")):
        flags.add(Flag.REFUSAL)
    return Message(
        content=content.text,
        thoughts=tuple(thought for thought in thoughts if thought is not None),
        tool_calls=_tool_calls(message),
        call_chars=_call_chars(message),
        flags=frozenset(flags),
    )


def _string(value: object) -> str:
    """A string; null is the empty one. Anything else is junk."""
    if value is None:
        return ""
    return value if isinstance(value, str) else refuse(Flag.BAD_CONTENT_TYPE)


def _items(value: object, junk: Flag) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else refuse(junk)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else refuse(Flag.BAD_CONTENT_TYPE)


def _content(value: object) -> _Content:
    if value is None or isinstance(value, str):
        return _Content(value)
    texts, thoughts, unknown = list[str](), list[str](), False
    for part in _items(value, Flag.BAD_CONTENT_TYPE):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = _object(part).get("type")
        if kind in _TEXT_PARTS:
            texts.append(_part_text(part))
        elif kind == "thinking":
            thoughts.append(_thinking(_object(part).get("thinking")))
        elif kind is None or not _skipped(_string(kind)):
            unknown = True
    return _Content("".join(texts), "".join(thoughts) if thoughts else None, unknown)


def _part_text(part: object) -> str:
    return part if isinstance(part, str) else _string(_object(part).get("text"))


def _thinking(value: object) -> str:
    """Anthropic and LiteLLM send a string, Mistral a list of text parts."""
    if isinstance(value, list):
        return "".join(_part_text(part) for part in value)
    return _string(value)


def _skipped(kind: str) -> bool:
    return bool(kind) and (_SKIPPED[0] in kind or _SKIPPED[1] in kind)


def _fields(message: dict[str, object]) -> list[str | None]:
    found = [message.get(key) for key in _FIELDS]
    return [value if value is None or isinstance(value, str) else refuse(Flag.BAD_REASONING_TYPE) for value in found]


def _details(message: dict[str, object]) -> str | None:
    texts = list[str]()
    for item in _items(message.get("reasoning_details"), Flag.BAD_REASONING_TYPE):
        detail = _object(item)
        kind, text = detail.get("type"), detail.get("text")
        if kind is None or not _skipped(_string(kind)):
            texts.append(text if isinstance(text, str) and text else _string(text) or _string(detail.get("summary")))
    return "".join(texts) if texts else None


def _blocks(message: dict[str, object]) -> str | None:
    texts = list[str]()
    for item in _items(message.get("thinking_blocks"), Flag.BAD_REASONING_TYPE):
        block = _object(item)
        kind, text = block.get("type"), block.get("thinking")
        if kind is None or not _skipped(_string(kind)):
            texts.append(text if isinstance(text, str) else _thinking(text))
    return "".join(texts) if texts else None


def _tool_calls(message: dict[str, object]) -> int | None:
    calls = _items(message.get("tool_calls"), Flag.BAD_CONTENT_TYPE)
    function_call = message.get("function_call")
    if function_call is not None:
        _object(function_call)
    if calls:
        return len(calls)
    return None if function_call is None else 1


def _call_chars(message: dict[str, object]) -> int:
    """What of the calls is text; arguments may be an object. Junk counts as none: what a call holds is not judged."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    texts = [
        function.get(key)
        for function in (*functions, message.get("function_call"))
        if isinstance(function, dict)
        for key in ("name", "arguments")
    ]
    return sum(len(text if isinstance(text, str) else str(text)) for text in texts if isinstance(text, str | dict))
