"""The columns of a preset as a table, and which lines a table cannot hold. Pure: no line is changed to fit.

A message is a structure with every key it may have; a key that a line does not have is null, and a null key of a line
counts as one that it does not have. What has no fixed form (tool schemas, usage, a body) is JSON text.
"""

import json
from collections.abc import Callable
from enum import Enum
from typing import Any

from app.export.presets import Preset
from app.export.values import Unfit

Row = dict[str, Any]


class Column(Enum):
    """What a column holds."""

    TEXT = "text"
    INTEGER = "integer"
    TOKENS = "token ids"
    MASK = "zeros and ones"
    MESSAGES = "messages"
    TURNS = "turns of from and value"
    JSON = "JSON text"


_COLUMNS = {
    Column.TEXT: ("sample_id", "id", "custom_id", "primary_id", "reasoning", "content", "finish_reason", "status",
                  "verdict", "text"),
    Column.INTEGER: ("replica", "parser_version"),
    Column.TOKENS: ("input_ids",),
    Column.MASK: ("loss_mask",),
    Column.MESSAGES: ("messages", "completion", "conversations"),
}  # fmt: skip
_BY_KEY = {key: column for column, keys in _COLUMNS.items() for key in keys}
MESSAGE_KEYS = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id")
CALL_KEYS = ("id", "type", "index", "function")
FUNCTION_KEYS = ("name", "arguments")
TURN_KEYS = ("from", "value")


def column_of(preset: Preset, key: str) -> Column:
    """What the column of a key holds."""
    if preset is Preset.SHAREGPT and key == "conversations":
        return Column.TURNS
    return _BY_KEY.get(key, Column.JSON)


def cells(preset: Preset, line: bytes) -> Row:
    """The cells of a line's row. Raises Unfit."""
    return {key: _CELL[column_of(preset, key)](value) for key, value in json.loads(line).items()}


def why_not(preset: Preset, line: bytes) -> str | None:
    """Why a table cannot hold a line, or None."""
    try:
        cells(preset, line)
    except Unfit as error:
        return error.reason
    return None


def _text(value: Any) -> str | None:
    """A text; UTF-8 has no form for a lone surrogate."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unfit("parquet:odd_value")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Unfit("parquet:lone_surrogate") from error
    return value


def _integer(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or not -(2**63) <= value < 2**63):
        raise Unfit("parquet:odd_value")
    return value


def _integers(value: Any) -> list[int]:
    return [number for one in value if (number := _integer(one)) is not None]


def _json(value: Any) -> str | None:
    """JSON text; here a lone surrogate is an escape, as it is in a line."""
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def _messages(value: Any) -> list[Row]:
    return [_object(one, MESSAGE_KEYS, {"tool_calls": _calls}) for one in value]


def _calls(value: Any) -> list[Row] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise Unfit("parquet:odd_message")
    return [_object(one, CALL_KEYS, {"index": _integer, "function": _function}) for one in value]


def _function(value: Any) -> Row | None:
    return None if value is None else _object(value, FUNCTION_KEYS)


def _turns(value: Any) -> list[Row]:
    return [_object(one, TURN_KEYS) for one in value]


def _object(value: Any, keys: tuple[str, ...], cell: dict[str, Callable[[Any], Any]] | None = None) -> Row:
    """An object whose keys are all known; texts but for those in `cell`."""
    if not isinstance(value, dict) or not value.keys() <= set(keys):
        raise Unfit("parquet:odd_message")
    read: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(keys, _text), **(cell or {})}
    return {key: of(value.get(key)) for key, of in read.items()}


_CELL: dict[Column, Callable[[Any], Any]] = {
    Column.TEXT: _text,
    Column.INTEGER: _integer,
    Column.TOKENS: _integers,
    Column.MASK: _integers,
    Column.MESSAGES: _messages,
    Column.TURNS: _turns,
    Column.JSON: _json,
}
