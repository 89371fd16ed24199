"""The body around the answer: transport errors, choices in the order of their index, and what is said beside them."""

from dataclasses import dataclass

from app.capture import numbers
from app.capture.documents import refuse
from app.capture.flags import Flag
from app.capture.message import Message, open_message
from app.capture.reading import Usage

# Each choice costs the parser about ten microseconds whatever it holds; nobody asks for so many answers at once.
MAX_CHOICES = 2048
_INDEX_LIMIT = 2**31
_PARTIAL = ("abort", "error")  # SGLang aborts with HTTP 200 and half a text

# What a row of an old run may hold of a message; its other keys mean something else there.
_ROW_KEYS = ("reasoning_content", "reasoning", "reasoning_details", "content", "tool_calls", "function_call", "refusal")


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that came to an end."""

    index: int
    message: Message
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """A whole body, every type in it checked. There is at least one choice, and the first has the lowest index."""

    choices: tuple[Choice, ...]
    usage: Usage | None
    model: str | None
    weight_version: str | None
    token_ids: tuple[int, ...] | None
    prompt_token_ids: tuple[int, ...] | None


def check_status(http_status: int | None) -> None:
    """Only a 200 is an answer. None is an imported row, whose status nobody kept."""
    if http_status is not None and http_status != 200:
        refuse(Flag.HTTP_ERROR)


def body_of_row(row: object) -> object:
    """A row of an old run in the shape of a chat body."""
    if not isinstance(row, dict) or row.get("error"):
        return row
    message = {key: row[key] for key in _ROW_KEYS if key in row}
    choice = {"index": 0, "message": message, "finish_reason": row.get("finish_reason")}
    return {"choices": [choice], "usage": row.get("usage"), "model": row.get("model")}


def body_of_regenerated(row: object) -> object:
    """A row of SpecForge in the shape of a chat body. It keeps no finish reason; its status is the word for its end."""
    turns = row.get("conversations") if isinstance(row, dict) else None
    last = turns[-1] if isinstance(turns, list) and turns else None
    if not isinstance(row, dict) or not isinstance(last, dict) or last.get("role") != "assistant":
        return {"choices": []}
    return {"choices": [{"index": 0, "message": last, "finish_reason": row.get("status")}]}


def open_body(body: object) -> Envelope:
    """The parts of a chat body; the first reason why it is none decides the flag."""
    if not isinstance(body, dict):
        refuse(Flag.NO_CHOICES)
    if body.get("error") or body.get("object") == "error":  # nested (OpenAI, vLLM, llama.cpp) or flat (SGLang)
        refuse(Flag.ERROR_BODY)
    raw = body.get("choices")
    if not isinstance(raw, list) or not raw:
        refuse(Flag.NO_CHOICES)
    if len(raw) > MAX_CHOICES:
        refuse(Flag.BAD_CONTENT_TYPE)
    ordered = sorted(((_index(choice, position), choice) for position, choice in enumerate(raw)), key=_first)
    lowest = ordered[0][1]
    choices = tuple(_open_choice(index, choice) for index, choice in ordered)
    return Envelope(
        choices=choices,
        usage=numbers.usage(body.get("usage")),
        model=_text(body.get("model")),
        weight_version=_weight_version(body, lowest),
        token_ids=numbers.token_ids(*_places(lowest, "response_token_ids", "token_ids")),
        prompt_token_ids=numbers.token_ids(*_places(lowest, "prompt_token_ids"), body.get("prompt_token_ids")),
    )


def _first(pair: tuple[int, object]) -> int:
    return pair[0]


def _index(choice: object, position: int) -> int:
    index = choice.get("index") if isinstance(choice, dict) else None
    if index is None:
        return position
    if type(index) is not int or abs(index) >= _INDEX_LIMIT:
        refuse(Flag.BAD_CONTENT_TYPE)
    return index


def _open_choice(index: int, choice: object) -> Choice:
    if not isinstance(choice, dict):
        refuse(Flag.NO_MESSAGE)
    message = open_message(choice.get("message"))
    return Choice(index, message, _finish_reason(choice.get("finish_reason")))


def _finish_reason(value: object) -> str:
    if value is None or value == "":
        refuse(Flag.NO_FINISH_REASON)
    if not isinstance(value, str):
        refuse(Flag.BAD_CONTENT_TYPE)
    return refuse(Flag.ABORTED) if value in _PARTIAL else value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _weight_version(body: dict[str, object], choice: object) -> str | None:
    """SGLang says it beside the choices, and in `meta_info` when that was asked for."""
    inner = choice.get("meta_info") if isinstance(choice, dict) else None
    for place in (body.get("metadata"), inner):
        if isinstance(place, dict) and isinstance(place.get("weight_version"), str):
            return _text(place["weight_version"])
    return None


def _places(choice: object, *keys: str) -> list[object]:
    return [choice.get(key) for key in keys] if isinstance(choice, dict) else []
