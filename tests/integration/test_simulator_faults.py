"""Every fault that the simulator plays, over real sockets."""

import http.client
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.integration.simulator_kit import ANSWER, PROMPT, TOOLS, ask, ask_and_wait, joined, send
from tests.support.simulator import Simulator
from worker.simulator.answers import CLOSE, full_text, tool_section


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: Simulator) -> Simulator:
    running.reset()
    return running


@pytest.mark.parametrize(
    ("persona", "reasoning", "content", "finish"),
    [
        ("empty_thought", None, CLOSE + ANSWER.content, "stop"),
        ("no_thought", None, ANSWER.content, "stop"),
        ("blank_field", "\n", ANSWER.content, "stop"),
        ("truncated", None, (ANSWER.reasoning or "")[: len(ANSWER.reasoning or "") // 2], "length"),
        ("abort", None, full_text(PROMPT)[: len(full_text(PROMPT)) // 2], "abort"),
    ],
)
def test_personas_that_lose_something(
    simulator: Simulator, persona: str, reasoning: str | None, content: str, finish: str
) -> None:
    simulator.play(persona)
    got = ask(simulator)
    assert got.status == 200
    assert (got.message["reasoning_content"], got.message["content"], got.finish) == (reasoning, content, finish)
    assert simulator.stats()["answers"] == (0 if finish == "abort" else 1)


def test_tool_calls_come_as_kimi_markup(simulator: Simulator) -> None:
    simulator.play("tool_calls")
    expected = f"{ANSWER.reasoning}{CLOSE}{tool_section(PROMPT, 'get_weather')}"
    assert ask(simulator, tools=TOOLS).message["content"] == expected
    assert "<|tool" not in ask(simulator).message["content"]
    assert ask(simulator, skip_special_tokens=False).message["content"] == expected.replace("get_weather", "lookup")


def test_html_garbage_and_errors_come_with_status_200(simulator: Simulator) -> None:
    simulator.play("html_200")
    assert ask(simulator).headers["content-type"].startswith("text/html")
    simulator.play("garbage")
    assert len(ask(simulator).body) == 512
    simulator.play("error_200")
    assert ask(simulator).json["error"]["code"] == 500
    assert ask(simulator, stream=True).body.startswith(b'data: {"error"')
    assert simulator.stats()["answers"] == 0
    assert simulator.stats()["by_status"] == {"200": 4}


def test_a_cut_json_is_complete_http(simulator: Simulator) -> None:
    simulator.play("cut_json")
    got = ask(simulator)
    assert int(got.headers["content-length"]) == len(got.body) > 100
    with pytest.raises(json.JSONDecodeError):
        json.loads(got.body)
    assert joined(ask(simulator, stream=True).body.rpartition(b"\n\n")[0], "reasoning_content")[2] is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_that_breaks_in_mid_body_gives_half_of_it(simulator: Simulator, stream: bool) -> None:
    simulator.play("disconnect")
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(simulator, stream=stream)
    assert len(cut.value.partial) > 100
    assert simulator.stats()["cut"] == 1
    assert simulator.stats()["answers"] == 0


@pytest.mark.parametrize("status", [400, 401, 413, 422, 429, 500, 502, 503, 504])
def test_errors_on_order(simulator: Simulator, status: int) -> None:
    simulator.play(f"http_{status}")
    got = ask(simulator)
    assert got.status == status
    assert ("retry-after" in got.headers) == (status == 429)
    if status not in (502, 504):
        assert got.json["code"] == status
    assert simulator.stats()["by_status"] == {str(status): 1}


def test_a_server_that_does_not_know_the_model(simulator: Simulator) -> None:
    simulator.play("http_404_model")
    got = ask(simulator, model="nope")
    assert (got.status, got.json["param"]) == (404, "model")
    assert "`nope`" in got.json["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_slow_body_is_whole_in_the_end(simulator: Simulator, stream: bool) -> None:
    simulator.play("slow:0.1")
    body = ask(simulator, stream=stream).body
    text = joined(body, "reasoning_content")[1] if stream else json.loads(body)["choices"][0]["message"]["content"]
    assert text == full_text(PROMPT)
    assert simulator.stats()["aborted"] == 0


def test_a_big_body_is_valid_and_as_big_as_said(simulator: Simulator) -> None:
    simulator.play("big_body:3000000")
    content = ask(simulator).message["content"]
    assert content.startswith(full_text(PROMPT))
    assert len(content) == len(full_text(PROMPT)) + 3_000_000
    simulator.play("big_body")
    assert int(ask(simulator).headers["content-length"]) > 64 << 20


def test_a_dead_scheduler_shows_in_health_alone(simulator: Simulator) -> None:
    assert send(simulator, "GET", "/health").status == 200
    simulator.play("health_503")
    assert send(simulator, "GET", "/health").status == 503
    assert send(simulator, "GET", "/v1/models").status == 200
    with ask_and_wait(simulator):
        simulator.wait_until(lambda stats: stats["busy"] == 1)


def test_an_outage_cuts_and_refuses_and_keeps_the_counts(simulator: Simulator) -> None:
    assert ask(simulator).status == 200
    aborted = simulator.wait_until(lambda stats: stats["open"] == 0)["aborted"]  # a client may hang up at the very end
    simulator.play("hang")
    with ask_and_wait(simulator) as waiting:
        simulator.wait_until(lambda stats: stats["busy"] == 1)
        simulator.outage(0.5)
        assert waiting.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        send(simulator, "GET", "/health")
    while True:
        with suppress(ConnectionRefusedError):
            stats = simulator.stats()
            break
    assert (stats["requests"], stats["answers"], stats["aborted"], stats["open"]) == (2, 1, aborted + 1, 0)
    simulator.play("sglang")
    assert ask(simulator).status == 200


def test_an_outage_of_no_time_is_refused(simulator: Simulator) -> None:
    for seconds in (0, -1, 1e9):
        with pytest.raises(ValueError, match="seconds"):
            simulator.outage(seconds)


def test_a_busy_server_may_say_for_how_long_or_not(simulator: Simulator) -> None:
    for persona, waits in (("http_429_bare", False), ("http_503_wait", True)):
        simulator.play(persona)
        assert ("retry-after" in ask(simulator).headers) == waits


def test_reasoning_is_lost_after_so_many_answers(simulator: Simulator) -> None:
    simulator.play("loses_reasoning_after:2")
    contents = [ask(simulator).message["content"] for _ in range(3)]
    assert contents == [full_text(PROMPT), full_text(PROMPT), ANSWER.content]


def test_faults_come_in_their_order_and_count_from_the_last_play(simulator: Simulator) -> None:
    for _ in range(2):
        simulator.play("sglang", faults=["http_500@first:1", "http_429@every:3", "http_400@prompt:bad"])
        statuses = [ask(simulator, prompt).status for prompt in ("a", "b", "c", "bad", "e", "f")]
        assert statuses == [500, 200, 429, 400, 200, 429]
    assert simulator.stats()["by_persona"] == {"http_500": 2, "sglang": 4, "http_429": 4, "http_400": 2}
