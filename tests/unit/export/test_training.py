"""Presets `tokens` and `text`: exact rows, or none with a reason."""

import json
from typing import Any

import pytest

from app.export.lines import line_of
from app.export.presets import Preset
from app.export.template import Template
from app.export.values import Exported, Unfit
from tests.unit.export.kit import stored

KIMI = (
    "{% for m in messages %}<|im_{{ m.role }}|>{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_assistant|>{% if thinking is defined and thinking is false %}<think></think>{% else %}<think>{% endif %}"
)
PLAIN = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant] "
SAMPLE = json.dumps([{"role": "user", "content": "q"}])


def row(**changed: Any) -> Exported:
    values: dict[str, Any] = {
        "sample_id": "s1", "messages": SAMPLE, "tools": None, "reasoning": " r\n", "content": "\nc",
        "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}, "tool_calls": None,
        "replica": None, "stored": stored(), "parts": ("", "", "</think>"), "tokens": ((7, 8, 2**32 - 1), (9, 0)),
        "template": Template("t", KIMI, "<|im_end|>"),
    }  # fmt: skip
    return Exported(**values | changed)


def line(preset: Preset, **changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line_of(row(**changed), preset))
    return found


def text(**changed: Any) -> str:
    found: str = line(Preset.TEXT, **changed)["text"]
    return found


def plain(**changed: Any) -> str:
    return text(template=Template("t", PLAIN, "</s>"), **changed)


def why_not(preset: Preset, **changed: Any) -> str:
    with pytest.raises(Unfit) as caught:
        line_of(row(**changed), preset)
    return caught.value.reason


def test_tokens_are_those_of_the_server_with_the_models_own_marked() -> None:
    made = line(Preset.TOKENS, replica=1)
    assert made["input_ids"] == [7, 8, 2**32 - 1, 9, 0]
    assert made["loss_mask"] == [0, 0, 0, 1, 1]
    assert (made["id"], made["primary_id"]) == ("s1#1", "s1")
    assert made["text"] == "<think> r\n</think>\nc"
    assert made["metadata"] == {
        "finish_reason": "stop", "verdict": "split_from_content", "is_tool_call": False, "prompt_tokens": 3,
        "completion_tokens": 2, "request": '{"model":"m"}',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ((None, None), "no_token_ids"),
        ((None, (9, 0)), "no_prompt_token_ids"),
        (((7, 8, 9), None), "no_answer_token_ids"),
        (((7, 8, 9), ()), "no_answer_token_ids"),
        (((7, 8, 9), (9,)), "token_ids_incomplete"),
        (((7, 8), (9, 0)), "token_ids_incomplete"),
    ],
)  # fmt: skip
def test_ids_that_are_not_all_there_make_no_row(tokens: Any, reason: str) -> None:
    assert why_not(Preset.TOKENS, tokens=tokens) == reason


def test_ids_are_taken_where_the_server_counted_nothing() -> None:
    assert line(Preset.TOKENS, usage=None)["loss_mask"] == [0, 0, 0, 1, 1]


def test_a_prompt_that_opened_the_thought_is_gone_on_with() -> None:
    assert text() == "<|im_user|>q<|im_end|>\n<|im_assistant|><think> r\n</think>\nc<|im_end|>"


def test_a_prompt_that_did_not_gets_the_tag_as_the_model_wrote_it_or_as_its_family_does() -> None:
    assert plain() == "[user] q\n[assistant] <think> r\n</think>\nc</s>"
    assert plain(parts=None) == "[user] q\n[assistant] <think> r\n</think>\nc</s>"
    assert plain(parts=("\n", "<think>", "</think>")) == "[user] q\n[assistant] \n<think> r\n</think>\nc</s>"
    assert plain(parts=None, stored=stored(profile="mistral")) == "[user] q\n[assistant] [THINK] r\n[/THINK]\nc</s>"


def test_a_thought_that_ends_with_a_call_has_no_tag_that_was_not_written() -> None:
    assert text(parts=("", "", ""), content="<|tool_calls|>").endswith("<think> r\n<|tool_calls|><|im_end|>")


def test_no_end_token_where_the_limit_ended_it_and_none_twice() -> None:
    assert text(finish_reason="length").endswith("\nc")
    assert text(content="c<|im_end|>").endswith("</think>c<|im_end|>")
    assert text(template=Template("t", KIMI, "")).endswith("</think>\nc")


def test_what_was_asked_without_thinking_is_rendered_so() -> None:
    off = stored(request='{"chat_template_kwargs":{"thinking":false}}', verdict="none_expected")
    assert text(reasoning=None, parts=None, stored=off).endswith("<|im_assistant|><think></think>\nc<|im_end|>")
    assert text(reasoning="", parts=None, stored=off).endswith("<|im_assistant|><think></think>\nc<|im_end|>")
    assert why_not(Preset.TEXT, stored=off) == "prompt_closes_thinking"
    assert why_not(Preset.TEXT, reasoning=None, parts=None) == "prompt_opens_thinking"
    assert plain(reasoning=None, parts=None) == "[user] q\n[assistant] \nc</s>"


def test_calls_in_a_field_and_channels_are_no_text_of_the_model() -> None:
    assert why_not(Preset.TEXT, tool_calls=[{"id": "a"}]) == "tool_calls_in_a_field"
    assert why_not(Preset.TEXT, stored=stored(profile="harmony")) == "profile:harmony"


def test_what_the_template_refuses_makes_no_row() -> None:
    assert why_not(Preset.TEXT, template=Template("t", "{{ raise_exception('no') }}", "")) == "template_refused"


def test_history_is_rendered_as_it_was_sent() -> None:
    call = {"id": "f:0", "type": "function", "function": {"name": "f", "arguments": '{"b": 1,  "a": [2]}'}}
    history = [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "2", "reasoning_content": "old"},
        {"role": "user", "content": "3"},
        {"role": "assistant", "content": "", "reasoning_content": "new", "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "f:0"},
    ]
    template = Template("t", "{% for m in messages %}{{ m | tojson }}\n{% endfor %}", "")
    shown = [json.loads(one) for one in text(messages=json.dumps(history), template=template).split("\n")[:5]]
    assert "reasoning_content" not in shown[1]
    assert shown[3]["reasoning_content"] == "new"
    assert shown[3]["tool_calls"][0]["function"]["arguments"] == {"b": 1, "a": [2]}
