"""Every rule is linear: a hostile body is read in the time of a friendly one, give or take a factor.

It is CPU time as a multiple of that of an ordinary answer, whatever the machine is and whatever else it does. Both
are measured by turns, several times, and the median counts.
"""

import gc
import json
import statistics
import time
from collections.abc import Iterator

import pytest

from app.capture import Asked, Form, read_body

SIZE = 500_000
TIMES = 25  # the aim is 10; the rest is for a busy machine
FEWEST_BYTES_A_SECOND = 20_000_000
CALL = "<|tool_call_begin|>f:0<|tool_call_argument_begin|>"
SENTENCE = "The user asks about the weather, so I should say what I know of it and then come to the point. "
PARAGRAPH = SENTENCE * 5 + "\n\n"
MESSAGE = '{"message":{"content":"a"},"finish_reason":"stop"}'
LAST_EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"</think>a"},"finish_reason":"stop"}]}\n\n'

HOSTILE = {
    "back-ticks": "`a",
    "one run of back-ticks": "``",
    "back-ticks of two lengths": "` `` ",
    "back-ticks of three lengths": "` `` ``` ",
    "open tags": "<think>",
    "close tags": "</think>",
    "close tags in quotes": '"</think>"',
    "close tags in code": "`</think>` ",
    "close tags in code of two": "``</think>`` ",
    "close tags in code, a line each": "`</think>`\n",
    "close tags in code of two, a line each": "``</think>``\n",
    "close tags in code of three, a line each": "```</think>```\n",
    "fences never closed": "```python\n",
    "fences of four never closed": "````x\n",
    "fences closed at once": "```\n",
    "fences with a language": "```x\n```\n",
    "fences with a tag": "```\n</think>\n```\n",
    "fences longer and longer": "```\n````\n`````\n",
    "fences with CRLF": "```\r\n",
    "fences indented": "   ```\n",
    "tildes": "~~~\n~~~\n",
    "tildes and back-ticks": "~~~\n```\n</think>",
    "call-begins": "<|tool_call_begin|>",
    "calls never ended": CALL + '{"',
    "calls with an odd quote": CALL + '{":"',
    "calls with escapes": CALL + '{"\\',
    "calls": CALL + "{}<|tool_call_end|>",
    "calls that mention the tag": CALL + '{"</think>":1}<|tool_call_end|>',
    "sections in quotes": '"<|tool_calls_section_begin|>"',
    "white space": " ",
    "line ends": "\r\n",
    "harmony headers": "<|channel|>analysis<|message|>",
    "harmony, stripped": "analysisassistantfinal",
}
TAILS = {"nothing": "", "a tag": "</think>ok", "an end of call": "</think>ok<|tool_call_end|>", "a fence": "\n```\nok"}
JSON = {  # in front, again and again, and behind
    "choices of nothing": ('{"choices":[', "[],", "[]]}"),
    "empty choices": ('{"choices":[', "{},", "{}]}"),
    "choices": ('{"choices":[', MESSAGE + ",", MESSAGE + "]}"),
    "least choices": ('{"choices":[', '{"message":{},"finish_reason":"a"},', MESSAGE + "]}"),
    "lists of lists": ('{"choices":[' + MESSAGE + '],"x":[', "[[]],", "[]]}"),
    "lists two hundred deep": ('{"choices":[' + MESSAGE + '],"x":[', "[" * 190 + "]" * 190 + ",", "1]}"),
    "objects as sparse as allowed": ('{"choices":[' + MESSAGE + '],"x":[', '{"a":1},', "{}]}"),
    "an array of lists": ("[", "[],", "[]]"),
    "content parts": ('{"choices":[{"message":{"content":[', '{"a":1},', '"a"]},"finish_reason":"stop"}]}'),
    "details": ('{"choices":[{"message":{"reasoning_details":[', '{"a":1},', ']},"finish_reason":"stop"}]}'),
    "token ids": ('{"choices":[{"token_ids":[', "1,", '1],"message":{"content":"a"},"finish_reason":"stop"}]}'),
    "numbers beside a long one": ('{"choices":[' + MESSAGE + '],"y":' + "9" * 4400 + ',"x":[', "1,", "1]}"),
    "escapes": ('{"choices":[{"message":{"content":"', "\\u0000", '</think>"},"finish_reason":"stop"}]}'),
}
STREAMS = {
    "events": 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    "events without choices": 'data:{"choices":[]}\n\n',
    "empty objects": "data:{}\n\n",
    "cut objects": "data:{\n\n",
    "empty data": "data\n\n",
    "errors": "error\n\n",
    "comments": ":\n",
    "line ends": "\n",
    "carriage returns": "\r",
    "several choices": 'data:{"choices":[{},{"index":1},{}]}\n\n',
}


def chat(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


def repeated(front: str, unit: str, behind: str) -> bytes:
    return (front + unit * (SIZE // len(unit)) + behind).encode()


PLAIN = chat(PARAGRAPH * (SIZE // len(PARAGRAPH) // 2) + "</think>" + PARAGRAPH * (SIZE // len(PARAGRAPH) // 2))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_is_read_in_time(unit: str, tail: str) -> None:
    text = HOSTILE[unit] * (SIZE // len(HOSTILE[unit])) + TAILS[tail]
    check(chat(text), Asked(profile="harmony" if "harmony" in unit else "think"))


@pytest.mark.parametrize("name", JSON)
def test_hostile_json_is_read_in_time(name: str) -> None:
    check(repeated(*JSON[name]), Asked())


@pytest.mark.parametrize("name", STREAMS)
def test_a_hostile_stream_is_read_in_time(name: str) -> None:
    check(repeated("", STREAMS[name], LAST_EVENT), Asked(form=Form.SSE))


def test_a_chunk_of_many_choices_or_calls_is_read_in_time() -> None:
    check(repeated('data: {"choices":[', "{},", "{}]}\n\n"), Asked(form=Form.SSE))
    calls = ",".join(f'{{"index":{number}}}' for number in range(SIZE // 15))
    check(f'data: {{"choices":[{{"delta":{{"tool_calls":[{calls}]}}}}]}}\n\n'.encode(), Asked(form=Form.SSE))


def test_fences_and_runs_of_every_length_are_read_in_time() -> None:
    check(chat(" ".join("`" * length for length in range(1, 900)) + "</think>ok"), Asked())
    lines = "\n".join("`" * length + "x" for length in range(900, 3, -1))
    check(chat(lines + "\n```\n```\n</think>ok"), Asked())
    check(chat("```\n" + "</think>```x\n" * 15_000 + "```y\n" * 40_000 + "```\n"), Asked())


@pytest.mark.parametrize("unit", ["\n", "a\n", "`a`\n"])
def test_fences_without_an_end_are_looked_for_a_few_times(unit: str) -> None:
    shorter_and_shorter = "".join("`" * length + "\n" for length in range(16, 2, -1))
    check(chat(shorter_and_shorter + unit * (SIZE // (len(unit) + 1)) + "</think>ok"), Asked())


@pytest.mark.parametrize("body", [b"[" * SIZE, b'{"a":' * SIZE, b'{"choices":' + b"[" * SIZE + b"]" * SIZE + b"}"])
def test_deep_nesting_is_given_up_at_once(body: bytes) -> None:
    assert read_body(200, body, Asked()).flags == {"not_json"}
    check(body[:SIZE], Asked())


def test_an_ordinary_answer_is_read_at_20_megabytes_a_second() -> None:
    best = min(cpu_seconds(PLAIN, Asked()) for _ in range(7))
    assert len(PLAIN) / best >= FEWEST_BYTES_A_SECOND


@pytest.fixture(autouse=True, scope="module")
def _own_heap() -> Iterator[None]:
    """What the test process holds is none of the parser's: the garbage collector leaves it out."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def check(body: bytes, asked: Asked) -> None:
    """The median of the rounds, or an early one that is well below."""
    ratios = list[float]()
    for ratio in rounds(body, asked):
        ratios.append(ratio)
        if statistics.median(ratios) < TIMES / 2:
            return
    assert statistics.median(ratios) < TIMES, ratios


def rounds(body: bytes, asked: Asked) -> Iterator[float]:
    for _ in range(5):
        plain = statistics.median(cpu_seconds(PLAIN, Asked()) for _ in range(3))
        yield cpu_seconds(body, asked) / plain


def cpu_seconds(body: bytes, asked: Asked) -> float:
    started = time.process_time()
    read_body(200, body, asked)
    return time.process_time() - started
