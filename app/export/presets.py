"""The forms that rows go out in: one function a reader, from the values of an answer to the keys of its line.

Kimi's chat template writes the answer of a finished turn as `<think></think>A`, whatever `reasoning_content` holds, so
a file for a trainer that renders it with that template trains without reasoning. Hence the forms with the reasoning
inside the text.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.export.training import text_line, tokens_line
from app.export.values import Exported
from app.model.conversation import without_reasoning
from app.model.loss_flags import loaded

Line = dict[str, Any]
MESSAGES = None  # the place of the prompt's messages, which are stored as JSON and put in as they are


class Preset(StrEnum):
    """Which reader a file is for."""

    RUN_INFERENCE = "run_inference"
    MESSAGES = "messages"
    SPECFORGE = "specforge"
    SPECFORGE_TURNS = "specforge_turns"
    INLINE_THINK = "inline_think"
    SHAREGPT = "sharegpt"
    OPENAI_BATCH = "openai_batch"
    FULL = "full"
    TOKENS = "tokens"
    TEXT = "text"


# Of a conversation these have a row a generation.
EACH_TURN = frozenset({Preset.MESSAGES, Preset.SPECFORGE_TURNS, Preset.OPENAI_BATCH, Preset.TOKENS, Preset.TEXT})


@dataclass(frozen=True, slots=True)
class Shape:
    """The keys of a preset's lines in their order, those that only some lines have, and what makes a line."""

    fields: tuple[str, ...]
    build: Callable[[Exported], Line]
    optional: tuple[str, ...] = ()
    warning: str | None = None  # what its reader is known to lose
    facts: bool = False  # whether its lines show how an answer came, so that it is read


def _run_inference(row: Exported) -> Line:
    line: Line = {
        "sample_id": row.sample_id,
        "messages": MESSAGES,
        "reasoning": row.reasoning,
        "content": row.content,
        "finish_reason": row.finish_reason,
        "usage": row.usage,
    }
    if row.tool_calls is not None:
        line["tool_calls"] = row.tool_calls
    if row.replica is not None:
        line["replica"] = row.replica
    return line


def _messages(row: Exported) -> Line:
    return {
        "id": row.name,
        "messages": MESSAGES,
        "completion": [_assistant(row)],
        "tools": _tools(row),
    }


def _specforge(row: Exported) -> Line:
    line: Line = {"id": row.name, "conversations": [*json.loads(row.messages), _assistant(row)]}
    tools = _tools(row)
    if tools is not None:
        line["tools"] = tools
    return line | {"status": "success"}


def _specforge_turns(row: Exported) -> Line:
    line = _specforge(row)
    history = [without_reasoning(message) for message in line["conversations"][:-1]]
    return line | {"conversations": [*history, line["conversations"][-1]]}


def _inline_think(row: Exported) -> Line:
    said: Line = {"role": "assistant", "content": _inline(row.reasoning, row.content)}
    if row.tool_calls is not None:
        said["tool_calls"] = row.tool_calls
    return {"id": row.name, "conversations": [*(_flat(message) for message in json.loads(row.messages)), said]}


def _sharegpt(row: Exported) -> Line:
    turns = [turn for message in json.loads(row.messages) for turn in _spoken(_flat(message))]
    answer: Line = {"role": "assistant", "content": _inline(row.reasoning, row.content), "tool_calls": row.tool_calls}
    return {"id": row.name, "conversations": [*turns, *_spoken(answer)]}


def _openai_batch(row: Exported) -> Line:
    return {
        "id": row.name,
        "custom_id": row.name,
        "response": {
            "status_code": row.stored.facts.http_status,
            "request_id": row.stored.facts.request_id,
            "body": row.body_value,
        },
        "error": None,
    }


def _full(row: Exported) -> Line:
    line = _run_inference(row) | {
        "tool_calls": row.tool_calls,
        "replica": row.stored.replica,
        "tools": _tools(row),
        "params": _loaded(row.stored.facts.params),
        "verdict": row.stored.verdict,
        "flags": json.loads(row.stored.facts.flags),
        "loss_flags": sorted(loaded(row.stored.facts.loss_flags)),
        "parser_version": row.stored.parser_version,
    }
    line["response"] = row.stored.facts.of_response(row.stored.form) | _raw(row.stored.body)
    if row.script is not None:
        line |= {"script": json.loads(row.script), "turns": [_turn(one) for one in row.generations[:-1]]}
    return line


def _turn(row: Exported) -> Line:
    """An earlier answer of a conversation."""
    return {
        "reasoning": row.reasoning,
        "content": row.content,
        "finish_reason": row.finish_reason,
        "usage": row.usage,
        "tool_calls": row.tool_calls,
        "verdict": row.stored.verdict,
        "flags": json.loads(row.stored.facts.flags),
        "loss_flags": sorted(loaded(row.stored.facts.loss_flags)),
        "parser_version": row.stored.parser_version,
        "response": row.stored.facts.of_response(row.stored.form) | _raw(row.stored.body),
    }


def _raw(body: bytes) -> Line:
    """The body as text where it is some, else in base 64: never anything but its bytes."""
    try:
        return {"raw": body.decode()}
    except UnicodeDecodeError:
        return {"raw_base64": base64.b64encode(body).decode()}


def _tools(row: Exported) -> Any:
    return _loaded(row.tools)


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _text(content: str | None) -> str:
    """Readers want a text: an answer that only called tools has none."""
    return "" if content is None else content


def _assistant(row: Exported) -> Line:
    said: Line = {"role": "assistant", "content": _text(row.content)}
    if row.reasoning is not None:
        said["reasoning_content"] = row.reasoning
    if row.tool_calls is not None:
        said["tool_calls"] = row.tool_calls
    return said


def _inline(reasoning: str | None, content: str | None) -> str:
    """The answer with its reasoning in front; starting exactly with the open tag, whatever the model's own tags are."""
    return _text(content) if reasoning is None else f"<think>{reasoning}</think>{_text(content)}"


def _flat(message: Line) -> Line:
    """A message of the history whose reasoning stands in its content."""
    if "reasoning_content" not in message:
        return message
    kept = {key: value for key, value in message.items() if key != "reasoning_content"}
    return kept | {"content": _inline(message["reasoning_content"], message["content"])}


_FROM = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def _spoken(message: Line) -> list[Line]:
    """One message as `from` and `value`; calls are turns of their own, after the text that comes with them."""
    calls = message.get("tool_calls")
    turns = [{"from": _FROM[message["role"]], "value": message["content"]}]
    if calls:
        turns = [turn for turn in turns if turn["value"]]
        turns.append(
            {"from": "function_call", "value": json.dumps([_call(call) for call in calls], ensure_ascii=False)}
        )
    return turns


def _call(call: Line) -> Line:
    function = call["function"]
    return {"name": function["name"], "arguments": function["arguments"]}


_DROPS = (
    "SpecForge renders these rows by the model's chat template, and Kimi's template drops reasoning_content of "
    "finished turns: with it, a drafter trains without reasoning. Use --preset tokens or --preset text there."
)

_HISTORY = (
    "The answer stands in `completion`, and `messages` is what was before it: a trainer that knows `messages` alone "
    "trains on the history without any answer. For TRL rename `messages` to `prompt`; for axolotl and NeMo use "
    "--preset inline_think."
)

SHAPES: dict[Preset, Shape] = {
    Preset.RUN_INFERENCE: Shape(
        ("sample_id", "messages", "reasoning", "content", "finish_reason", "usage"),
        _run_inference,
        ("tool_calls", "replica"),
    ),
    Preset.MESSAGES: Shape(("id", "messages", "completion", "tools"), _messages, warning=_HISTORY),
    Preset.SPECFORGE: Shape(("id", "conversations", "status"), _specforge, ("tools",), _DROPS),
    Preset.SPECFORGE_TURNS: Shape(("id", "conversations", "status"), _specforge_turns, ("tools",), _DROPS),
    Preset.INLINE_THINK: Shape(("id", "conversations"), _inline_think),
    Preset.SHAREGPT: Shape(("id", "conversations"), _sharegpt),
    Preset.OPENAI_BATCH: Shape(("id", "custom_id", "response", "error"), _openai_batch, facts=True),
    Preset.FULL: Shape(
        (
            "sample_id", "messages", "reasoning", "content", "finish_reason", "usage", "tool_calls", "replica", "tools",
            "params", "verdict", "flags", "loss_flags", "parser_version", "response",
        ),
        _full,
        ("script", "turns"),
        facts=True,
    ),
    Preset.TOKENS: Shape(("id", "primary_id", "input_ids", "loss_mask", "text", "metadata"), tokens_line, facts=True),
    Preset.TEXT: Shape(("id", "text"), text_line, facts=True),
}  # fmt: skip
