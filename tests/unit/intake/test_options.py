"""What `import` is told about rows: which turns of theirs are left out, and how their columns are put together."""

import json
from typing import Any

from app.intake.rows import Reading, Reject, Row, read_row

SYSTEM = {"from": "system", "value": "Think between your own tags."}


def read(row: Any, reading: Reading) -> Row:
    found = read_row(1, json.dumps(row).encode(), reading)
    assert isinstance(found, Row)
    return found


def said(row: Row) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in json.loads(row.messages)]


def test_system_prompts_are_dropped_when_asked_for_and_then_a_row_is_the_one_without() -> None:
    turns = [{"from": "user", "value": "q"}, {"from": "assistant", "value": "a"}]
    with_key = {"system": "Think between your own tags.", "conversations": turns}
    with_turn = {"conversations": [SYSTEM, *turns]}
    kept = read(with_key, Reading())
    assert said(kept) == said(read(with_turn, Reading())) == [("system", SYSTEM["value"]), ("user", "q")]
    for row in (with_key, with_turn):
        dropped = read(row, Reading(drop_system=True))
        assert said(dropped) == [("user", "q")]
        assert dropped.identity == read({"conversations": turns}, Reading()).identity


def test_an_old_answer_keeps_the_system_prompt_that_it_was_given_under() -> None:
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    row = {"sample_id": "1", "messages": asked, "content": "t</think>a", "finish_reason": "stop"}
    assert said(read(row, Reading(drop_system=True))) == [("system", "s"), ("user", "q")]


def test_instruction_and_input_are_parted_by_a_newline_or_by_an_empty_line() -> None:
    row = {"instruction": "do", "input": "this"}
    assert said(read(row, Reading())) == [("user", "do\nthis")]
    assert said(read(row, Reading(format="alpaca_blank_line"))) == [("user", "do\n\nthis")]
    assert said(read({"instruction": "do", "input": ""}, Reading(format="alpaca_blank_line"))) == [("user", "do")]
    assert isinstance(read_row(1, b'{"prompt": "p"}', Reading(format="alpaca_blank_line")), Reject)
