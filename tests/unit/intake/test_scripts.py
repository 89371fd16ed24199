"""`--turns`: which answers of a conversation a row asks for."""

import json
from typing import Any

from app.intake.normal import Turns
from app.intake.rows import Reading, Reject, Row, read_row

TALK = [
    {"from": "human", "value": "1"}, {"from": "gpt", "value": "a"}, {"from": "gpt", "value": "more"},
    {"from": "human", "value": "2"}, {"from": "gpt", "value": "b"},
]  # fmt: skip


def read(turns: Turns, /, **row: Any) -> Row:
    found = read_row(1, json.dumps(row).encode(), Reading(turns=turns))
    assert isinstance(found, Row), found
    return found


def messages(row: Row) -> Any:
    return json.loads(row.messages)


def test_all_asks_for_every_answer_and_last_and_first_for_one() -> None:
    whole = read(Turns.ALL, conversations=TALK)
    assert messages(whole) == [
        {"role": "user", "content": "1"},
        {"role": "assistant"},
        {"role": "user", "content": "2"},
    ]
    assert whole.turns == 2
    first = read(Turns.FIRST, conversations=TALK)
    assert (messages(first), first.turns) == ([{"role": "user", "content": "1"}], 1)
    last = read(Turns.LAST, conversations=TALK)
    assert [message["content"] for message in messages(last)] == ["1", "a", "more", "2"]
    assert last.turns == 1


def test_a_conversation_of_one_turn_is_an_ordinary_prompt_under_the_same_id() -> None:
    rows = [read(turns, conversations=TALK[:2]) for turns in Turns]
    assert {row.identity.base_id for row in rows} == {rows[0].identity.base_id}
    assert {row.turns for row in rows} == {1}


def test_follow_ups_are_replayed_by_all_and_noted_by_the_others() -> None:
    whole = read(Turns.ALL, turns=["1", "2", "3"])
    assert [message.get("content") for message in messages(whole)] == ["1", None, "2", None, "3"]
    assert (whole.turns, whole.notes) == (3, ())
    assert read(Turns.LAST, turns=["1", "2", "3"]).notes == ("followups:2",)
    assert read(Turns.FIRST, turns=["1", "2"]).notes == ("followups:1",)


def test_an_empty_follow_up_is_refused_where_it_would_be_asked() -> None:
    row = json.dumps({"turns": ["1", " "]}).encode()
    found = read_row(1, row, Reading(turns=Turns.ALL))
    assert isinstance(found, Reject)
    assert found.reason == "empty_user_turn"
    assert isinstance(read_row(1, row, Reading()), Row)


def test_a_script_keeps_the_calls_that_its_results_answer() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    row = read(
        Turns.ALL,
        messages=[
            {"role": "user", "content": "1"}, {"role": "assistant", "content": "hm", "tool_calls": [call]},
            {"role": "tool", "content": "42"}, {"role": "assistant", "content": "so"}, {"role": "user", "content": "2"},
        ],
    )  # fmt: skip
    assert messages(row)[1] == {"role": "assistant", "tool_calls": [call]}
    assert messages(row)[2] == {"role": "tool", "content": "42", "tool_call_id": "c"}
    assert row.turns == 3


def test_a_finished_result_stays_the_answer_to_its_last_turn() -> None:
    said = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "2"}]
    row = read(Turns.ALL, sample_id="x", messages=said, finish_reason="stop", content="b", reasoning="r")
    assert (messages(row), row.turns) == (said, 1)
