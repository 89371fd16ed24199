"""The rules of the normal form that no recorded row shows."""

import json
from typing import Any

import pytest

from app.intake.rows import Reading, Reject, Row, read_row


def _read(**row: Any) -> Row | Reject:
    return read_row(1, json.dumps(row).encode(), Reading())


def _row(**row: Any) -> Row:
    read = _read(**row)
    assert isinstance(read, Row), read
    return read


def _messages(*messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_row(messages=list(messages), **more).messages)
    return found


def _reason(*messages: Any, **more: Any) -> str:
    read = _read(messages=list(messages), **more)
    assert isinstance(read, Reject), read
    return read.reason


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def says(content: Any = "yes", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def calls(*names: str, **more: Any) -> dict[str, Any]:
    return says(None, tool_calls=[{"function": {"name": name, "arguments": "{}"}, **more} for name in names])


def result(**more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": "1", **more}


def test_other_keys_and_nulls_do_not_reach_the_server() -> None:
    turn = {"role": "user", "content": "hi", "name": "Bob", "reasoning_content": None, "loss_weight": 1}
    assert _messages(turn) == [user()]
    assert _messages(user(), says(None, tool_calls=None, reasoning_content=None), user("more")) == [user()]


def test_leading_answers_are_removed_and_counted_and_system_turns_stay() -> None:
    row = _row(messages=[says(), {"role": "system", "content": "s"}, result(), user(), says()])
    assert json.loads(row.messages) == [{"role": "system", "content": "s"}, user()]
    assert row.notes == ("leading_assistant_removed:2",)


@pytest.mark.parametrize("empty", ["", "  \n", "\u200b", "\u200b \u200b", None])
def test_an_empty_answer_ends_the_conversation(empty: str | None) -> None:
    row = _row(messages=[user("a"), says("b"), user("c"), says(empty), user("d"), user("e")])
    assert json.loads(row.messages) == [user("a"), says("b"), user("c")]
    assert row.notes == ("cut_at_empty_assistant",)


def test_an_empty_last_answer_goes_without_a_note() -> None:
    assert _row(messages=[user(), says("")]).notes == ()


def test_consecutive_user_turns_are_noted_once() -> None:
    assert _row(messages=[user(), user(), user(), says(), user(), user()]).notes == ("consecutive_user",)


def test_a_think_block_in_the_history_becomes_reasoning_byte_for_byte() -> None:
    history = _messages(user(), says("\n<think>\nhm\n</think>\n\nyes </think>"), user("more"))
    assert history[1] == {"role": "assistant", "content": "\n\nyes </think>", "reasoning_content": "\nhm\n"}


def test_a_think_block_without_an_end_or_inside_the_text_stays_text() -> None:
    for text in ("<think>never closed", "so <think>x</think>"):
        assert _messages(user(), says(text), user())[1] == says(text)


def test_parts_are_joined_with_nothing_between() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "value": "b", "text": None}]
    assert _messages(user(parts)) == [user("ab")]


def test_a_system_key_comes_first_and_equal_ones_become_one() -> None:
    system = {"role": "system", "content": "s"}
    assert _messages(user(), system="s") == [system, user()]
    assert _messages(system, user(), system="s") == [system, user()]
    assert _messages(system, user(), system="t") == [{"role": "system", "content": "t"}, system, user()]
    assert _messages(user(), system="") == [user()]


def test_calls_are_numbered_over_the_conversation_and_results_find_theirs() -> None:
    history = _messages(user(), calls("f", "g"), result(), result(), calls("f", id="own"), calls("h"), result())
    ids = [call["id"] for turn in history for call in turn.get("tool_calls", [])]
    assert ids == ["functions.f:0", "functions.g:1", "own", "functions.h:3"]
    answered = [turn["tool_call_id"] for turn in history if turn["role"] == "tool"]
    assert answered == ["functions.f:0", "functions.g:1", "functions.h:3"]


def test_a_result_takes_the_id_it_names() -> None:
    two = says(None, tool_calls=[{"id": one, "name": "f", "arguments": {"é": 1}} for one in "ab"])
    history = _messages(user(), two, result(tool_call_id="b"), result(tool_call_ids=["a", "b"]))
    assert [turn["tool_call_id"] for turn in history[2:]] == ["b", "a"]
    assert history[1]["tool_calls"][0]["function"]["arguments"] == '{"é": 1}'


def test_arguments_that_are_a_string_stay_byte_for_byte() -> None:
    text = '{ "a":1,\n"b" : null}'
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": text}}
    assert _messages(user(), says("", tool_calls=[call]), user())[1]["tool_calls"] == [call]


@pytest.mark.parametrize("none", [None, "", [], "[]"])
def test_no_tools_are_no_tools(none: Any) -> None:
    assert _row(messages=[user()], tools=none).tools is None


def test_tools_are_parsed_and_wrapped_and_nulls_in_a_string_stay() -> None:
    row = _row(messages=[user()], tools='[{"name": "f", "default": null}]')
    assert json.loads(row.tools or "") == [{"type": "function", "function": {"name": "f", "default": None}}]
    row = _row(messages=[user()], tools=[{"name": "f", "default": None, "enum": [None]}])
    assert json.loads(row.tools or "") == [{"type": "function", "function": {"name": "f", "enum": [None]}}]


@pytest.mark.parametrize(
    ("reason", "messages", "more"),
    [
        ("unknown_format", ["hi"], {}),
        ("unknown_format", [user(7)], {}),
        ("unknown_format", [user(["hi"])], {}),
        ("bad_tools", [user()], {"tools": "[{name: f}]"}),
        ("bad_tools", [user()], {"tools": {"name": "f"}}),
        ("bad_tools", [user()], {"tools": [{"description": "no name"}]}),
        ("duplicate_tool_name", [user()], {"tools": [{"name": "f"}, {"name": "f"}]}),
        ("unknown_role:User", [{"role": "User", "content": "hi"}], {}),
        ("multimodal", [user([{"type": "image_url", "image_url": "x"}])], {}),
        ("multimodal", [user()], {"images": ["x.png"]}),
        ("no_user_turn", [], {}),
        ("no_user_turn", [says()], {}),
        ("empty_user_turn", [user(" \u200b")], {}),
        ("bad_tool_call", [user(), says("", tool_calls=[{"name": "f", "arguments": "[]"}]), user()], {}),
        ("bad_tool_call", [user(), says("", tool_calls=[{"arguments": {}}]), user()], {}),
        ("tool_result_without_call", [user(), result()], {}),
        ("tool_result_without_call", [user(), calls("f", id="a"), result(tool_call_id="b")], {}),
        ("tool_result_without_call", [user(), calls("f"), result(), result()], {}),
        ("tool_result_without_call", [user(), calls("f"), says(), result()], {}),
        ("undeclared_tool", [user(), calls("g"), user()], {"tools": [{"name": "f"}]}),
        ("lone_surrogate", [user("\ud83d")], {}),
        # the first in the order of the checks wins
        ("bad_tools", [{"role": "robot"}], {"tools": "x"}),
        ("unknown_role:robot", [user([{"type": "image"}]), {"role": "robot"}], {}),
        ("multimodal", [says([{"type": "image"}])], {}),
        ("no_user_turn", [calls("f"), result(tool_call_id="x")], {}),
        ("bad_tool_call", [user(), calls("g"), says("", tool_calls=["?"]), user()], {"tools": [{"name": "f"}]}),
    ],
)
def test_a_row_is_refused_with_the_first_reason(reason: str, messages: list[Any], more: dict[str, Any]) -> None:
    assert _reason(*messages, **more) == reason


def test_a_bad_call_or_half_a_character_in_an_answer_that_is_cut_costs_nothing() -> None:
    assert _messages(user(), says("\ud83d", tool_calls=["?"])) == [user()]


def test_messages_win_over_prompt_and_null_keys_count_as_absent() -> None:
    assert _row(prompt="p", messages=[user("m")]).format == "messages"
    assert _row(prompt="p", messages=None).format == "prompt"


def test_a_told_format_refuses_rows_of_others() -> None:
    read = read_row(1, b'{"messages": [{"role": "user", "content": "x"}]}', Reading("prompt"))
    assert isinstance(read, Reject)
    assert read.reason == "unknown_format"
