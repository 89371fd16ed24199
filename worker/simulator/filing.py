"""Where each kind of server puts what the model said: all in content, or cut into fields. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from worker.simulator import tokens
from worker.simulator.answers import CLOSE, OPEN
from worker.simulator.request import Facts

_SECTION = "<|tool_calls_section_begin|>"
_CALL = re.compile(
    r"<\|tool_call_begin\|>(?P<id>[^\s<]+)<\|tool_call_argument_begin\|>(?P<arguments>\{.*?\})<\|tool_call_end\|>",
    re.DOTALL,
)


class Dialect(StrEnum):
    """Whose shape a completion has."""

    SGLANG = "sglang"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the server's tool parser recognised."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One choice: what the model said, and what of it the client is shown in which field."""

    said: str
    finish: str
    content: str | None
    reasoning: str | None = None
    dialect: Dialect = Dialect.SGLANG
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    tool_calls: tuple[ToolCall, ...] = ()


def cut_to(said: str, limit: int | None) -> tuple[str, str, int]:
    """The text within a limit of tokens, the finish reason, and how many tokens it has, its end token included."""
    total = tokens.count(said)
    if limit is None or total < limit:
        return said, "stop", total + 1
    return tokens.decode(tokens.encode(said)[:limit]), "length", limit


def unparsed(said: str, facts: Facts, finish: str | None = None) -> Message:
    """SGLang without a reasoning parser: thought, closing marker and answer stand in content."""
    said, reached, total = cut_to(said, facts.limit)
    shown = said if facts.specials else tokens.without_specials(said)
    return Message(said, finish or reached, shown, completion_tokens=total)


def parsed(said: str, facts: Facts, finish: str | None = None) -> Message:
    """SGLang with the kimi_k2 reasoning and tool parsers: two fields, verbatim, the thought null where none came."""
    said, reached, total = cut_to(said, facts.limit)
    text = said if facts.specials else tokens.without_specials(said)  # the parsers see the text without them
    thought, shown = _split(text) if facts.thinking and facts.separate else ("", text)
    calls = _calls(shown) if facts.tool is not None else ()
    if calls:
        shown = shown.partition(_SECTION)[0]
        reached = "tool_calls" if reached == "stop" else reached
    counted = _thought_tokens(said) if facts.thinking else 0
    return Message(said, finish or reached, shown, thought or None, Dialect.SGLANG, counted, total, calls)


def by_vllm(said: str, facts: Facts, finish: str | None = None) -> Message:
    """vLLM with its kimi_k2 parser: the thought is called `reasoning`, and what is empty is null."""
    said, reached, total = cut_to(said, facts.limit)
    thought, rest = _split(said) if facts.thinking else ("", said)
    shown = rest if facts.specials else tokens.without_specials(rest)
    reasoning = thought if facts.include else ""
    counted = tokens.count(thought)
    return Message(said, finish or reached, shown or None, reasoning or None, Dialect.VLLM, counted, total)


def _split(said: str) -> tuple[str, str]:
    """Thought and the rest. The prompt opened the thought, so a text without a marker is all thought."""
    thought, _, rest = said.removeprefix(OPEN).partition(CLOSE)
    before, section, calls = thought.partition(_SECTION)
    if section:  # the model jumped into a tool call without closing its thought
        return before, section + calls
    return thought, rest


def _thought_tokens(said: str) -> int:
    """The closing marker is counted too; without one all is thought."""
    thought, closing, _ = said.partition(CLOSE)
    return tokens.count(thought) + (1 if closing else 0)


def _calls(text: str) -> tuple[ToolCall, ...]:
    if _SECTION not in text:
        return ()
    found = [(call["id"], call["arguments"]) for call in _CALL.finditer(text)]
    return tuple([ToolCall(id_, _name(id_), arguments) for id_, arguments in found])


def _name(call_id: str) -> str:
    """`get_weather` of `functions.get_weather:0`."""
    return call_id.removeprefix("functions.").rpartition(":")[0]
