"""The simulator as a process, asked over real sockets: its answers."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.simulator_kit import ANSWER, PROMPT, ask, joined, send
from tests.support.simulator import Simulator
from worker.simulator import tokens
from worker.simulator.answers import full_text


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: Simulator) -> Simulator:
    running.reset()
    return running


def test_sglang_without_a_parser_puts_all_text_into_content(simulator: Simulator) -> None:
    got = ask(simulator)
    assert got.status == 200
    assert got.headers["content-type"] == "application/json"
    assert got.message == {"role": "assistant", "content": full_text(PROMPT), "reasoning_content": None}
    assert list(got.json) == ["id", "object", "created", "model", "choices", "usage", "metadata"]
    usage = got.json["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] == tokens.count(full_text(PROMPT)) + 1


def test_sglang_with_a_parser_sends_two_fields(simulator: Simulator) -> None:
    simulator.play("sglang_parser")
    assert ask(simulator).message == {
        "role": "assistant",
        "content": ANSWER.content,
        "reasoning_content": ANSWER.reasoning,
    }
    assert ask(simulator, separate_reasoning=False).message["content"] == full_text(PROMPT)


def test_vllm_calls_the_thought_reasoning_and_has_no_server_info(simulator: Simulator) -> None:
    simulator.play("vllm")
    message = ask(simulator).message
    assert (message["reasoning"], message["content"]) == (ANSWER.reasoning, ANSWER.content)
    assert "reasoning_content" not in message
    assert send(simulator, "GET", "/server_info").status == 404


def test_instant_mode_gives_content_only(simulator: Simulator) -> None:
    got = ask(simulator, chat_template_kwargs={"thinking": False})
    assert got.message["content"] == ANSWER.content


@pytest.mark.parametrize(
    ("persona", "key", "expected"),
    [
        ("sglang", "reasoning_content", ("", full_text(PROMPT))),
        ("sglang_parser", "reasoning_content", (ANSWER.reasoning, ANSWER.content)),
        ("vllm", "reasoning", (ANSWER.reasoning, ANSWER.content)),
    ],
)
@pytest.mark.parametrize("latency", ["0", "fixed:0.02"])
def test_a_joined_stream_is_the_whole_answer(
    simulator: Simulator, persona: str, key: str, expected: tuple[str, str], latency: str
) -> None:
    simulator.play(persona, latency=latency)
    got = ask(simulator, stream=True, stream_options={"include_usage": True})
    assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert got.body.endswith(b"data: [DONE]\n\n")
    assert joined(got.body, key) == (*expected, "stop")
    usage = json.loads(got.body.split(b"\n\n")[-3].removeprefix(b"data: "))
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0


def test_token_ids_stand_for_the_text(simulator: Simulator) -> None:
    choice = ask(simulator, return_token_ids=True, return_prompt_token_ids=True).json["choices"][0]
    assert tokens.decode(choice["response_token_ids"]) == full_text(PROMPT) + "<|im_end|>"
    assert PROMPT in tokens.decode(choice["prompt_token_ids"])
    assert tokens.decode(choice["prompt_token_ids"]).endswith("<think>")


def test_several_choices_and_seeds_have_words_of_their_own(simulator: Simulator) -> None:
    choices = ask(simulator, n=3).json["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in choices] == [full_text(PROMPT, choice=n) for n in range(3)]
    assert ask(simulator, seed=5).message["content"] == full_text(PROMPT, seed=5)
    streamed = ask(simulator, n=2, stream=True).body
    assert joined(streamed, "reasoning_content", 1)[1] == full_text(PROMPT, choice=1)


def test_an_unknown_model_is_answered_under_its_name(simulator: Simulator) -> None:
    assert ask(simulator, model="no-such-model").json["model"] == "no-such-model"


def test_max_tokens_cuts(simulator: Simulator) -> None:
    got = ask(simulator, max_tokens=10)
    assert (got.message["content"], got.finish) == (full_text(PROMPT)[:20], "length")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"messages": []}, "Messages cannot be empty."),
        ({"max_tokens": -5}, "must be at least 0"),
        ({"max_tokens": 1_000_000}, "maximum context length of 262144 tokens"),
        ({"messages": [{"role": "alien", "content": "a"}]}, "1 validation error"),
        ({"messages": [{"role": "user", "content": "[[b64:!]]"}]}, "not base64"),
    ],
)
def test_bad_requests_get_the_flat_envelope(simulator: Simulator, fields: dict[str, object], words: str) -> None:
    got = ask(simulator, **fields)  # type: ignore[arg-type]
    assert got.status == 400
    assert got.json["object"] == "error"
    assert got.json["code"] == 400
    assert words in got.json["message"]
    assert simulator.stats()["by_status"] == {"400": 1}
