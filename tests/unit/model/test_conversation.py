"""What is asked next in a conversation, given its script and the model's own answers."""

from typing import Any

from app.model.conversation import Said, as_sent, next_prompt, prompts, words_of

PLACE: dict[str, Any] = {"role": "assistant"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(*names: str) -> dict[str, Any]:
    """A place at which the file's model called tools, with the ids `of-NAME`."""
    return {"role": "assistant", "tool_calls": [_call(name, f"of-{name}") for name in names]}


def result(name: str) -> dict[str, Any]:
    return {"role": "tool", "content": f"result of {name}", "tool_call_id": f"of-{name}"}


def _call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calls(*names: str) -> Said:
    """An answer of our model that calls tools, with ids of its own."""
    made = [_call(name, f"own-{place}") for place, name in enumerate(names)]
    return Said("", "why", made, [(name, f"own-{place}") for place, name in enumerate(names)])


def test_user_turns_are_replayed_with_the_models_own_answers() -> None:
    script = [{"role": "system", "content": "s"}, user("1"), PLACE, user("2"), PLACE, user("3")]
    assert next_prompt(script, []) == script[:2]
    one, two = Said("own 1", "because"), Said("own 2")
    first = {"role": "assistant", "content": "own 1", "reasoning_content": "because"}
    assert next_prompt(script, [one]) == [*script[:2], first, user("2")]
    assert next_prompt(script, [one, two]) == [
        *script[:2], first, user("2"), {"role": "assistant", "content": "own 2"}, user("3"),
    ]  # fmt: skip
    assert next_prompt(script, [one, two, Said("own 3")]) is None


def test_one_turn_is_asked_once() -> None:
    assert next_prompt([user("1")], []) == [user("1")]
    assert next_prompt([user("1")], [Said("")]) is None


def test_the_files_results_go_to_the_models_calls_of_the_same_names() -> None:
    script = [user("1"), called("f", "g"), result("f"), result("g"), PLACE, user("2")]
    sent = next_prompt(script, [calls("g", "f")])
    assert sent is not None
    assert [message for message in sent if message["role"] == "tool"] == [
        {"role": "tool", "content": "result of g", "tool_call_id": "own-0"},
        {"role": "tool", "content": "result of f", "tool_call_id": "own-1"},
    ]
    assert sent[1]["tool_calls"] == list(calls("g", "f").calls)


def test_a_call_without_a_result_in_the_file_ends_the_conversation() -> None:
    script = [user("1"), called("f"), result("f"), PLACE, user("2")]
    assert next_prompt(script, [calls("other")]) is None
    assert next_prompt(script, [calls("f", "f")]) is None
    assert next_prompt([user("1"), PLACE, user("2")], [calls("f")]) is None


def test_a_model_that_calls_nothing_goes_on_with_what_the_user_says_next() -> None:
    script = [user("1"), called("f"), result("f"), called("g"), result("g"), PLACE, user("2"), PLACE, user("3")]
    first = {"role": "assistant", "content": "straight"}
    assert next_prompt(script, [Said("straight")]) == [user("1"), first, user("2")]
    assert next_prompt([user("1"), called("f"), result("f")], [Said("straight")]) is None


def test_reasoning_goes_back_only_inside_the_running_tool_loop() -> None:
    script = [user("1"), called("f"), result("f"), PLACE, user("2")]
    in_loop = as_sent(next_prompt(script, [calls("f")]) or [])
    assert in_loop[1]["reasoning_content"] == "why"
    after = as_sent(next_prompt(script, [calls("f"), Said("so", "then")]) or [])
    assert [message["role"] for message in after] == ["user", "assistant", "tool", "assistant", "user"]
    assert all("reasoning_content" not in message for message in after)


def test_each_answer_has_the_prompt_it_was_given_to_even_where_it_is_read_anew_since() -> None:
    script = [user("1"), PLACE, user("2"), PLACE, user("3")]
    answers = [Said("a"), Said("b"), Said("c")]
    assert [len(sent) for sent in prompts(script, answers)] == [1, 3, 5]
    anew = [Said("a"), calls("f"), Said("c")]
    assert [len(sent) for sent in prompts(script, anew)] == [1, 3, 5]


def test_the_words_of_a_script_are_all_that_it_says_itself() -> None:
    assert words_of([user("1"), PLACE, user("2")]) == "1\n2"
