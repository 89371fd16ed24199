"""The ground truth: a test that knows the prompt knows the answer."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.simulator import tokens
from worker.simulator.answers import CLOSE, answer_of, full_text, key_of, tool_section

PROMPTS = [f"question {number}" for number in range(300)]


def dictated(text: str) -> str:
    return f"say [[b64:{base64.b64encode(text.encode()).decode()}]] please"


def test_the_same_prompt_has_the_same_answer() -> None:
    assert [answer_of(prompt) for prompt in PROMPTS] == [answer_of(prompt) for prompt in PROMPTS]


def test_this_answer_never_changes() -> None:
    # Stored runs are compared with answers made by a later version.
    assert full_text("hello", answer_bytes=300).startswith(" Request 2cf24dba5fb0a30e. ")
    assert key_of("hello") == "2cf24dba5fb0a30e"


@given(st.text())
def test_the_key_of_its_prompt_stands_in_both_halves_of_an_answer(prompt: str) -> None:
    answer = answer_of(prompt)
    assert answer.reasoning is not None
    assert key_of(prompt) in answer.reasoning
    assert key_of(prompt) in answer.content


def test_a_lone_surrogate_has_a_key_and_an_answer() -> None:
    assert key_of("\ud800") in answer_of("\ud800").content


def test_an_answer_wears_white_space_like_the_models_own() -> None:
    answers = [answer_of(prompt) for prompt in PROMPTS]
    assert all((answer.reasoning or "").startswith(" ") for answer in answers)
    assert all(answer.content.startswith("\n\n") for answer in answers)
    assert any(answer.content != answer.content.rstrip() for answer in answers)
    assert any(answer.reasoning != (answer.reasoning or "").rstrip() for answer in answers)


def test_answers_hold_what_parsers_stumble_over_but_one_closing_marker_only() -> None:
    texts = [full_text(prompt) for prompt in PROMPTS]
    assert all(text.count(CLOSE) == 1 for text in texts)
    for awkward in ("```", "~~~", '"', "“", "答案", "🙂", "\\", "\t"):
        assert any(awkward in text for text in texts), awkward


def test_answers_are_as_long_as_asked_on_average() -> None:
    for wished in (500, 4096, 20_000):
        sizes = [len(full_text(prompt, wished).encode()) for prompt in PROMPTS]
        assert 0.8 * wished < sum(sizes) / len(sizes) < 1.3 * wished
        assert max(sizes) > 1.3 * min(sizes)


def test_seeds_and_choices_give_other_words_under_the_same_key() -> None:
    variants = [answer_of("q"), answer_of("q", seed=1), answer_of("q", seed=2), answer_of("q", seed=1, choice=1)]
    assert len({answer.text for answer in variants}) == 4
    assert all(key_of("q") in answer.content for answer in variants)


def test_a_directive_is_answered_to_the_byte() -> None:
    text = "<think>a\x00b</think>c </think> d\u2028\n"
    assert full_text(dictated(text)) == text
    assert answer_of(dictated(text)).reasoning == "<think>a\x00b"


def test_a_directive_without_marker_has_no_reasoning_and_one_that_starts_with_it_an_empty_one() -> None:
    assert answer_of(dictated("plain")).reasoning is None
    assert answer_of(dictated("</think>plain")).reasoning == ""


@pytest.mark.parametrize("broken", ["[[b64:!!!]]", "[[b64:/w==]]"])
def test_a_directive_that_cannot_be_read_is_an_error(broken: str) -> None:
    with pytest.raises(ValueError, match="base64"):
        full_text(broken)


def test_an_unclosed_directive_is_plain_text() -> None:
    assert key_of("[[b64:aa") in full_text("[[b64:aa")


@given(st.text())
def test_token_ids_say_exactly_which_text_they_stand_for(text: str) -> None:
    mixed = text + tool_section(text) + "<think></think>"
    assert tokens.decode(tokens.encode(mixed)) == mixed
    assert tokens.count(mixed) == len(tokens.encode(mixed))


def test_a_cut_in_the_middle_of_a_character_leaves_it_out() -> None:
    assert tokens.decode(tokens.encode("a🙂")[:1]) == "a"


def test_special_tokens_are_deleted_but_the_thinking_tags_are_not() -> None:
    text = "t</think>" + tool_section("q", "f")
    assert tokens.without_specials(text) == 't</think>functions.f:0{"key": "' + key_of("q") + '"}'
