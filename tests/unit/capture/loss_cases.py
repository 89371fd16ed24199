"""Answers and what hints at a loss in them: the two detectors, with their limits on both sides."""

import json
from dataclasses import dataclass
from typing import Any

SHORT, CUT = "text_short_for_tokens", "cut_upstream"


@dataclass(frozen=True)
class LossCase:
    """One answer of `tokens` tokens; None: the server counts none."""

    name: str
    message: dict[str, Any]
    tokens: int | None
    flags: frozenset[str]
    thinking: bool | None = None
    finish: str = "stop"
    more: tuple[dict[str, Any], ...] = ()  # messages of further choices

    def body(self) -> bytes:
        messages = (self.message, *self.more)
        choices = [{"index": at, "message": one, "finish_reason": self.finish} for at, one in enumerate(messages)]
        usage = None if self.tokens is None else {"prompt_tokens": 9, "completion_tokens": self.tokens}
        return json.dumps({"choices": choices, "usage": usage}).encode()


def _call(arguments: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "f" * 20, "arguments": arguments}}


_OK, _SHORT, _CUT = frozenset[str](), frozenset({SHORT}), frozenset({CUT})
LOSS_CASES = (
    LossCase("a whole answer", {"content": "r" * 300 + "</think>" + "a" * 50}, 100, _OK),
    LossCase("the ratio is met", {"content": "a" * 120}, 100, _OK),
    LossCase("a character too few", {"content": "a" * 119}, 100, _SHORT),
    LossCase("few tokens are mostly markup", {"content": "a"}, 63, _OK),
    LossCase("the least number of tokens", {"content": "a"}, 64, _SHORT),
    LossCase("no count", {"content": "a"}, None, _OK),
    LossCase("a thought in a field counts", {"content": "a", "reasoning_content": "r" * 119}, 100, _OK),
    LossCase("both of two copies count once", {"content": "", "reasoning": "r" * 70, "reasoning_content": "r" * 70},
             100, _SHORT),
    LossCase("tags count, they cost tokens", {"content": "r" * 111 + "</think>a"}, 100, _OK),
    LossCase("the names and arguments of calls count",
             {"content": None, "tool_calls": [_call("x" * 40), _call("x" * 40)]}, 100, _OK),
    LossCase("arguments that are an object count", {"content": None, "tool_calls": [_call({"a": "x" * 95})]}, 100, _OK),
    LossCase("a function call of old counts",
             {"content": None, "function_call": {"name": "f" * 20, "arguments": "x" * 100}}, 100, _OK),
    LossCase("calls that hold too little", {"content": None, "tool_calls": [_call("{}")]}, 100, _SHORT),
    LossCase("calls that are junk hold nothing", {"content": None, "tool_calls": [5, {"function": [1]}]}, 100, _SHORT),
    LossCase("a cut answer is measured too", {"content": "a" * 100}, 16_384, _SHORT, finish="length"),
    LossCase("all choices share the count", {"content": "a" * 60}, 100, _OK, more=({"content": "b" * 60},)),
    LossCase("the first line is empty", {"content": "\n\nunderstood"}, None, _CUT),
    LossCase("one line end is enough", {"content": "\nunderstood"}, None, _CUT),
    LossCase("a line of blanks is empty", {"content": " \t\r\nunderstood"}, None, _CUT),
    LossCase("thinking was off", {"content": "\n\nunderstood"}, None, _CUT, thinking=False),
    LossCase("blanks before the text are no line", {"content": "  understood"}, None, _OK),
    LossCase("an empty line further on", {"content": "a\n\nb"}, None, _OK),
    LossCase("nothing but line ends is no answer", {"content": "\n\n"}, None, _OK),
    LossCase("the thought is in a field", {"content": "\n\na", "reasoning_content": "r"}, None, _OK),
    LossCase("the thought is in content", {"content": "r</think>\n\na"}, None, _OK),
    LossCase("an empty block was not cut off", {"content": "<think></think>\n\na"}, None, _OK),
    LossCase("a leaked thought is there", {"content": "\n\nr</think>a"}, None, _OK, thinking=False),
    LossCase("a thought that was cut off costs its tokens", {"content": "\n\nunderstood"}, 400, _SHORT | _CUT),
)  # fmt: skip
