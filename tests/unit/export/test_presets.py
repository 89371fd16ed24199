"""Each preset, read back by the rules of its reader."""

import base64
import json
from typing import Any

import pytest

from app.export.lines import line_of
from app.export.presets import SHAPES, Preset
from app.export.template import Template
from app.export.values import Exported
from tests.unit.export.kit import BODY, stored
from worker.option_values import PRESETS

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
HISTORY = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "", "reasoning_content": "t", "tool_calls": [CALL]},
    {"role": "tool", "content": "1", "tool_call_id": "functions.f:0"},
]


def _line(preset: Preset, **changed: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "sample_id": "s1", "messages": json.dumps(HISTORY), "tools": json.dumps([TOOL]),
        "reasoning": " r\n", "content": "\n\nc", "finish_reason": "stop", "usage": None, "tool_calls": None,
        "replica": None, "stored": stored(), "tokens": ((1, 2), (3,)),
        "template": Template("t", "{{ messages[0].content }}", "<|im_end|>"),
    }  # fmt: skip
    found: dict[str, Any] = json.loads(line_of(Exported(**values | changed), preset))
    return found


@pytest.mark.parametrize("preset", Preset)
def test_a_line_has_the_keys_that_its_preset_promises(preset: Preset) -> None:
    line, shape = _line(preset), SHAPES[preset]
    assert [key for key in line if key not in shape.optional] == list(shape.fields)


def test_the_command_offers_every_preset() -> None:
    assert sorted(PRESETS) == sorted(Preset)
    assert PRESETS[0] == Preset.RUN_INFERENCE


def test_messages_keep_the_history_and_give_one_completion() -> None:
    line = _line(Preset.MESSAGES)
    assert line["messages"] == HISTORY
    assert line["completion"] == [{"role": "assistant", "content": "\n\nc", "reasoning_content": " r\n"}]
    assert line["tools"] == [TOOL]


def test_an_answer_that_only_calls_has_a_text_all_the_same() -> None:
    (said,) = _line(Preset.MESSAGES, content=None, tool_calls=[CALL])["completion"]
    assert said == {"role": "assistant", "content": "", "reasoning_content": " r\n", "tool_calls": [CALL]}


def test_specforge_has_only_keys_that_its_template_may_see() -> None:
    line = _line(Preset.SPECFORGE)
    assert set(line) == {"id", "conversations", "tools", "status"}
    assert "tools" not in _line(Preset.SPECFORGE, tools=None)
    assert line["conversations"][-1]["reasoning_content"] == " r\n"
    assert SHAPES[Preset.SPECFORGE].warning is not None


def test_inline_think_starts_exactly_with_the_tag_and_splits_back() -> None:
    turns = _line(Preset.INLINE_THINK)["conversations"]
    text = turns[-1]["content"]
    reasoning, tag, content = text.removeprefix("<think>").partition("</think>")
    assert (text[:7], reasoning, tag, content) == ("<think>", " r\n", "</think>", "\n\nc")
    assert turns[2] == {"role": "assistant", "content": "<think>t</think>", "tool_calls": [CALL]}
    assert all("reasoning_content" not in turn for turn in turns)


def test_an_answer_without_reasoning_gets_no_tag() -> None:
    assert _line(Preset.INLINE_THINK, reasoning=None)["conversations"][-1]["content"] == "\n\nc"
    assert _line(Preset.INLINE_THINK, reasoning="")["conversations"][-1]["content"] == "<think></think>\n\nc"


def test_sharegpt_has_turns_of_from_and_value_with_calls_of_their_own() -> None:
    turns = _line(Preset.SHAREGPT)["conversations"]
    assert [turn["from"] for turn in turns] == ["system", "human", "gpt", "function_call", "observation", "gpt"]
    assert all(set(turn) == {"from", "value"} and isinstance(turn["value"], str) for turn in turns)
    assert json.loads(turns[3]["value"]) == [{"name": "f", "arguments": '{"a": 1}'}]
    assert turns[-1]["value"] == "<think> r\n</think>\n\nc"


def test_openai_batch_carries_the_body_as_the_server_sent_it() -> None:
    line = _line(Preset.OPENAI_BATCH)
    assert line["response"] == {"status_code": 200, "request_id": "q-1", "body": json.loads(BODY)}
    assert (line["custom_id"], line["error"]) == ("s1", None)


def test_full_holds_the_very_bytes() -> None:
    response = _line(Preset.FULL)["response"]
    assert response["raw"].encode() == BODY
    assert response["request"] == {"model": "m"}
    odd = _line(Preset.FULL, stored=stored(body=b"\xff{}"))["response"]
    assert base64.b64decode(odd["raw_base64"]) == b"\xff{}"
    assert "raw" not in odd


def test_replicas_of_a_sample_have_names_of_their_own() -> None:
    assert _line(Preset.SPECFORGE, replica=1)["id"] == "s1#1"
    assert _line(Preset.RUN_INFERENCE, replica=1)["replica"] == 1


@pytest.mark.parametrize("preset", Preset)
def test_a_lone_surrogate_and_a_huge_number_go_out_in_every_form(preset: Preset) -> None:
    line = _line(preset, content="\ud800", usage={"n": 2**70})
    assert "\ud800" in json.dumps(line, ensure_ascii=False) or preset == Preset.OPENAI_BATCH


@pytest.mark.parametrize("preset", [preset for preset in Preset if not SHAPES[preset].facts])
def test_a_preset_that_reads_no_facts_needs_none(preset: Preset) -> None:
    unread = stored()._replace(known=None)
    assert _line(preset, stored=unread) == _line(preset)
    assert _line(preset, stored=unread, tool_calls=[CALL]) == _line(preset, tool_calls=[CALL])


@pytest.mark.parametrize("preset", [preset for preset in Preset if SHAPES[preset].facts])
def test_a_preset_that_shows_facts_fails_where_they_were_not_read(preset: Preset) -> None:
    with pytest.raises(AssertionError, match="reads no facts"):
        _line(preset, stored=stored()._replace(known=None))
