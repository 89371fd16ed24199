"""Every rule is linear: a hostile body is read in the time of a friendly one, give or take a factor.

It is CPU time, whatever else the machine does; an algorithm that is quadratic misses the limit by a lot.
"""

import json
import time

import pytest

from app.capture import Asked, read_body

SIZE = 250_000
LIMIT_CPU_S = 0.75
CALL = "<|tool_call_begin|>f:0<|tool_call_argument_begin|>"

HOSTILE = {
    "back-ticks": "`a",
    "back-ticks of two lengths": "` `` ",
    "open tags": "<think>",
    "close tags": "</think>",
    "close tags in quotes": '"</think>"',
    "close tags in code": "`</think>` ",
    "close tags in code, a line each": "`</think>`\n",
    "fences never closed": "```python\n",
    "fences closed at once": "```\n",
    "fences with a tag": "```\n</think>\n```\n",
    "tildes and back-ticks": "~~~\n```\n</think>",
    "call-begins": "<|tool_call_begin|>",
    "calls never ended": CALL + '{"',
    "calls with an odd quote": CALL + '{":"',
    "calls with escapes": CALL + '{"\\',
    "calls": CALL + "{}<|tool_call_end|>",
    "sections in quotes": '"<|tool_calls_section_begin|>"',
    "white space": " ",
    "harmony headers": "<|channel|>analysis<|message|>",
    "harmony, stripped": "analysisassistantfinal",
}
TAILS = {"nothing": "", "a tag": "</think>ok", "an end of call": "</think>ok<|tool_call_end|>", "a fence": "\n```\nok"}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_is_read_in_time(unit: str, tail: str) -> None:
    text = HOSTILE[unit] * (SIZE // len(HOSTILE[unit])) + TAILS[tail]
    check(text, Asked(profile="harmony" if "harmony" in unit else "think"))


def test_fences_and_runs_of_every_length_are_read_in_time() -> None:
    check(" ".join("`" * length for length in range(1, 900)) + "</think>ok", Asked())
    check("\n".join("`" * length + "x" for length in range(900, 3, -1)) + "\n```\n```\n</think>ok", Asked())
    check("```\n" + "</think>```x\n" * 15_000 + "```y\n" * 40_000 + "```\n", Asked())


def test_deep_nesting_is_given_up_at_once() -> None:
    for body in (b"[" * SIZE, b'{"a":' * SIZE, b'{"choices":' + b"[" * SIZE + b"]" * SIZE + b"}"):
        started = time.process_time()
        assert read_body(200, body, Asked()).flags == {"not_json"}
        assert time.process_time() - started < LIMIT_CPU_S


def check(text: str, asked: Asked) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
    started = time.process_time()
    read_body(200, body, asked)
    assert time.process_time() - started < LIMIT_CPU_S
