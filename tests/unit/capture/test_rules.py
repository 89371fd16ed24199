"""Rules of the procedure that the case file does not try, one line each."""

import json
from typing import Any

import pytest

from app.capture import Asked, Reading, read_body

SECTION = "<|tool_calls_section_begin|>"
CALL_BEGIN = "<|tool_call_begin|>"


def read(content: Any, finish: str = "stop", asked: Asked = Asked(), **message: Any) -> Reading:  # noqa: B008
    choice = {"index": 0, "message": {"content": content, **message}, "finish_reason": finish}
    return read_body(200, json.dumps({"choices": [choice]}).encode(), asked)


CALL_ON_SECTIONS = f'{CALL_BEGIN}f:0<|tool_call_argument_begin|>{{"a": "-{SECTION}"}}<|tool_call_end|>'
TICKS = "` " * 9_999
MANY = {"too_many_marks"}
MANY_AND_A_MENTION = MANY | {"literal_close_in_reasoning"}
NO_JUMP = "literal_close_only no_trace tool_markup_in_content"
UNASKED_JUMP = "unexpected_reasoning implicit_close_by_tool tool_markup_in_content"
OFF = Asked(thinking=False)
ECHO = Asked(prompt="what does </think> do?")
HARMONY = Asked(profile="harmony")
HARMONY_OFF = Asked(thinking=False, profile="harmony")


@pytest.mark.parametrize(
    ("content", "finish", "asked", "verdict", "flags"),
    [
        ("a</think>\n<think>b", "stop", Asked(), "leaked", {"tags_in_content"}),
        ("a</think>b</think>c", "stop", ECHO, "split_from_content", {"tag_echo"}),
        ("<think>a</think>b</think>c", "stop", OFF, "leaked", {"unexpected_reasoning"}),
        ("<think>a" + CALL_BEGIN + "</think>b", "stop", OFF, "leaked", "unexpected_reasoning tool_markup_in_reasoning"),
        ("<think>a" + CALL_BEGIN, "length", Asked(), "leaked", {"tool_markup_in_reasoning"}),
        ("<think>" + SECTION, "stop", Asked(), "missing", "empty_block implicit_close_by_tool tool_markup_in_content"),
        ("<think>a" + SECTION, "stop", OFF, "leaked", UNASKED_JUMP),
        ("<think>", "length", Asked(), "truncated", set()),
        ("say `" + SECTION + "`", "stop", Asked(), "missing", {"no_trace", "tool_markup_in_content"}),
        ("a" + CALL_ON_SECTIONS + ' "</think>"', "stop", Asked(), "missing", NO_JUMP),
        ("Try:\n```\nx\n</think>```py\ny\n```\n", "stop", Asked(), "split_from_content", {"protected_close_used"}),
        ("`a </think> b` </think>c", "stop", Asked(), "split_from_content", {"literal_close_in_reasoning"}),
        ("say `</think>` or\n" + TICKS + "\n</think>c", "stop", Asked(), "split_from_content", MANY_AND_A_MENTION),
        (TICKS + "\nsay `</think>` or</think>c", "stop", Asked(), "leaked", MANY | {"tags_in_content"}),
        (TICKS + "\n\"</think>\"", "stop", Asked(), "missing", MANY | {"literal_close_only", "no_trace"}),
        (TICKS + "\nanswer", "stop", Asked(), "missing", {"no_trace"}),
        ("say `</think>`", "stop", OFF, "none_expected", set()),
        ("plain", "length", OFF, "none_expected", {"content_truncated"}),
        ("plain answer", "stop", HARMONY, "missing", {"no_trace"}),
        ("<|channel|>final<|message|>a", "stop", HARMONY, "missing", {"no_trace"}),
        ("<|channel|>final<|message|>a", "stop", HARMONY_OFF, "none_expected", set()),
        ("<|channel|>analysis<|message|>a", "stop", HARMONY, "leaked", set()),
        ("<|channel|>analysis<|message|>a<|end|>", "length", HARMONY_OFF, "leaked", {"unexpected_reasoning"}),
        ("analysisI see", "length", HARMONY, "truncated", {"specials_stripped"}),
    ],
)  # fmt: skip
def test_content_alone(content: str, finish: str, asked: Asked, verdict: str, flags: set[str] | str) -> None:
    reading = read(content, finish, asked)
    wanted = set(flags.split()) if isinstance(flags, str) else flags
    assert (reading.verdict, set(reading.flags)) == (verdict, wanted)


@pytest.mark.parametrize(
    ("field", "content", "asked", "verdict", "flags"),
    [
        ("a`</think>`b", "c", Asked(), "captured_field", set()),
        ("a", "b</think>c", ECHO, "captured_field", {"tag_echo"}),
        ("a" + CALL_BEGIN, "b", OFF, "leaked", {"tool_markup_in_reasoning", "unexpected_reasoning"}),
        ("a</think>", "b", Asked(), "leaked", {"close_tag_in_reasoning"}),
        ("a", " a\n", Asked(), "leaked", {"content_equals_reasoning"}),
        ("<think>a", "b", Asked(), "captured_field", {"field_wrapped"}),
        ("<think> </think>", "b", Asked(), "missing", {"field_wrapped", "no_trace"}),
        ("a", "<think>a\n</think>b", Asked(), "captured_field", {"dup_in_content"}),
        ("a", "<think>ab</think>c", Asked(), "leaked", {"tags_in_content"}),
    ],
)
def test_field_and_content(field: str, content: str, asked: Asked, verdict: str, flags: set[str]) -> None:
    reading = read(content, asked=asked, reasoning_content=field)
    assert (reading.verdict, set(reading.flags)) == (verdict, flags)
    assert reading.parts is None


def test_fields_that_differ_are_flagged_and_the_first_wins() -> None:
    reading = read("c", reasoning_content=" ", reasoning="a", thinking="b", thinking_blocks=[{"thinking": " a "}])
    assert (reading.reasoning, reading.flags) == (" a ", {"fields_disagree"})


def test_the_first_blank_field_is_kept_when_nothing_is_split() -> None:
    assert read("c", reasoning_content="", reasoning=" ", thinking="\n").reasoning == " "
    assert read("a</think>c", reasoning=" ").reasoning == "a"


def test_the_longer_copy_of_an_embedded_thought_is_kept() -> None:
    assert read("\n<think> a </think> b", reasoning="a").reasoning == " a "
    assert read("<think>a</think> b", reasoning=" a\n").reasoning == " a\n"


def test_parts_of_unknown_kinds_are_flagged_and_redacted_ones_skipped() -> None:
    parts = ["a", {"type": "output_text", "text": "b"}, {"type": "redacted_thinking", "data": "x"}, {"text": "c"}]
    reading = read(parts, reasoning="why")
    assert (reading.content, reading.flags) == ("ab", {"unknown_part"})
    assert read(parts[:3], reasoning="why").flags == frozenset()


def test_harmony_messages_are_read_by_channel() -> None:
    text = (
        "<|channel|>analysis<|message|>one<|end|><|start|>assistant<|channel|>commentary to=functions.f "
        "<|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>analysis<|message|> two<|end|>"
        "<|start|>assistant<|channel|>final<|message|>done<|return|>"
    )
    reading = read(text, asked=HARMONY)
    assert (reading.reasoning, reading.content, reading.parts) == ("one two", "done", None)
