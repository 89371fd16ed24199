"""Each preset as its reader takes it: what reaches the model, and what the reader is known to lose."""

import json
from typing import Any

import pytest

from app.export.lines import line_of
from app.export.presets import SHAPES, Preset
from app.export.values import Exported
from tests.unit.export import readers
from tests.unit.export.kit import stored

SIMPLE = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
SECOND = [
    {"role": "user", "content": "1"},
    {"role": "assistant", "content": "2", "reasoning_content": "old"},
    {"role": "user", "content": "3"},
]


def line(preset: Preset, messages: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "sample_id": "s1", "messages": json.dumps(messages), "tools": None, "reasoning": " r\n",
        "content": "\n\nc", "finish_reason": "stop", "usage": None, "tool_calls": None, "replica": None,
        "stored": stored(),
    }  # fmt: skip
    found: dict[str, Any] = json.loads(line_of(Exported(**values | changed), preset))
    return found


def test_torchspec_trains_on_the_thought_of_the_last_answer_as_it_was_written() -> None:
    text = readers.torchspec_kimi(line(Preset.INLINE_THINK, SIMPLE)["conversations"])
    assert text.endswith("<|im_assistant|>assistant<|im_middle|><think> r\n</think>\n\nc<|im_end|>")
    text = readers.torchspec_kimi(line(Preset.INLINE_THINK, SECOND)["conversations"])
    assert "<|im_middle|><think></think>2<|im_end|>" in text  # as Kimi's own template shows a finished turn
    assert text.count(" r\n") == 1


def test_torchspec_would_lose_reasoning_that_stands_in_a_field() -> None:
    turns = line(Preset.SPECFORGE, SIMPLE)["conversations"]
    assert readers.torchspec_kimi(turns).endswith("<think></think>\n\nc<|im_end|>")


def test_eagle_reads_turns_of_two_speakers_and_stops_at_any_other() -> None:
    turns = readers.eagle(line(Preset.SHAREGPT, SECOND))
    assert [turn["content"] for turn in turns] == ["1", "<think>old</think>2", "3", "<think> r\n</think>\n\nc"]
    with pytest.raises(KeyError, match="system"):
        readers.eagle(line(Preset.SHAREGPT, SIMPLE))


def test_trl_takes_prompt_and_completion_and_without_a_prompt_the_history_alone() -> None:
    row = line(Preset.MESSAGES, SIMPLE)
    renamed = {"prompt": row["messages"], "completion": row["completion"]}
    assert readers.trl(renamed)[1] == row["completion"]
    assert readers.trl(row) == ([], row["messages"])
    warning = SHAPES[Preset.MESSAGES].warning
    assert warning is not None
    assert "rename `messages` to `prompt`" in warning


@pytest.mark.parametrize(("parser", "kept"), [("general", False), ("thinking", True)])
def test_specforge_keeps_reasoning_with_its_thinking_parser_alone(parser: str, kept: bool) -> None:
    (said,) = readers.specforge_messages(line(Preset.SPECFORGE, SIMPLE), parser)[-1:]
    assert ("reasoning_content" in said) is kept


def test_llama_factory_takes_pairs_after_a_system_turn() -> None:
    system, turns = readers.llama_factory(line(Preset.INLINE_THINK, SIMPLE))
    assert (system, [turn["role"] for turn in turns]) == ("s", ["user", "assistant"])
    assert turns[-1]["content"].startswith("<think> r\n</think>")
    call = {"id": "f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    looped = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": [call]},
              {"role": "tool", "content": "1", "tool_call_id": "f:0"}]  # fmt: skip
    with pytest.raises(readers.ReaderError):
        readers.llama_factory(line(Preset.INLINE_THINK, looped))
