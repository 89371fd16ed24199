"""The simulator as a process, asked over real sockets."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.simulator import PATIENCE_SECONDS, ROOT, Simulator
from worker.simulator import tokens
from worker.simulator.answers import CLOSE, answer_of, full_text, key_of, tool_section

PROMPT = "Why is the sky blue?"
ANSWER = answer_of(PROMPT)
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


@dataclass(frozen=True)
class Got:
    """A whole HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = self.json["choices"][0]["message"]
        return message

    @property
    def finish(self) -> str:
        finish: str = self.json["choices"][0]["finish_reason"]
        return finish


def send(simulator: Simulator, method: str, path: str, body: object = None, **headers: str) -> Got:
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=PATIENCE_SECONDS)
    try:
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"content-type": "application/json"} | headers)
        response = connection.getresponse()
        return Got(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def ask(simulator: Simulator, prompt: str = PROMPT, **fields: object) -> Got:
    request = {"model": "kimi-k2.5", "messages": [{"role": "user", "content": prompt}], **fields}
    return send(simulator, "POST", "/v1/chat/completions", request)


def ask_and_wait(simulator: Simulator, prompt: str = PROMPT, **fields: object) -> socket.socket:
    """Ask without reading: the connection stays open until it is closed."""
    request = {"model": "kimi-k2.5", "messages": [{"role": "user", "content": prompt}], **fields}
    body = json.dumps(request).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n"
    connection = socket.create_connection(("127.0.0.1", simulator.port), PATIENCE_SECONDS)
    connection.sendall(head.encode() + b"content-type: application/json\r\n\r\n" + body)
    return connection


def joined(body: bytes, key: str, index: int = 0) -> tuple[str, str, str | None]:
    """Reasoning, content and finish reason of one choice of an event stream."""
    reasoning, content, finish = "", "", None
    for event in body.decode().split("\n\n"):
        if not event.startswith("data: {"):
            continue
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            if choice["index"] == index:
                reasoning += choice["delta"].get(key) or ""
                content += choice["delta"].get("content") or ""
                finish = choice["finish_reason"] or finish
    return reasoning, content, finish


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: Simulator) -> Simulator:
    running.reset()
    return running


# What a good server sends


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


# What goes wrong


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


# Slots, clients that hang up, counters


def test_no_more_answers_than_slots_are_generated_at_once_and_the_others_queue(simulator: Simulator) -> None:
    simulator.play("hang", slots=2)
    waiting = [ask_and_wait(simulator, f"q{number}") for number in range(5)]
    simulator.wait_until(lambda stats: (stats["busy"], stats["queued"]) == (2, 3))
    waiting.pop().close()
    simulator.wait_until(lambda stats: (stats["busy"], stats["queued"]) == (2, 2))
    while waiting:
        waiting.pop().close()
    stats = simulator.wait_until(lambda stats: stats["aborted"] == 5)
    assert (stats["busy"], stats["queued"], stats["open"], stats["answers"]) == (0, 0, 0, 0)
    assert (stats["max_busy"], stats["max_queued"], stats["max_open"]) == (2, 3, 5)


def test_a_client_that_hangs_up_frees_its_slot_for_the_next_in_the_queue(simulator: Simulator) -> None:
    simulator.play("hang", slots=1)
    with ask_and_wait(simulator, "first"):
        simulator.wait_until(lambda stats: stats["busy"] == 1)
        simulator.play("sglang", slots=1)
        second = ask_and_wait(simulator, "second")
        simulator.wait_until(lambda stats: stats["queued"] == 1)
    with second:
        response = http.client.HTTPResponse(second)
        response.begin()
        assert json.loads(response.read())["choices"][0]["message"]["content"] == full_text("second")


def test_a_client_that_hangs_up_in_a_stream_aborts_its_generation(simulator: Simulator) -> None:
    simulator.play("sglang", latency="fixed:600")
    with ask_and_wait(simulator, stream=True) as connection:
        assert connection.recv(8).startswith(b"HTTP/1.1")
        simulator.wait_until(lambda stats: stats["busy"] == 1)
    stats = simulator.wait_until(lambda stats: stats["aborted"] == 1)
    assert (stats["busy"], stats["open"], stats["answers"]) == (0, 0, 0)


def test_the_time_of_busy_slots_adds_up(simulator: Simulator) -> None:
    simulator.play("sglang", latency="fixed:0.05", slots=2)
    before = simulator.stats()
    connections = [ask_and_wait(simulator, f"q{number}") for number in range(6)]
    after = simulator.wait_until(lambda stats: stats["answers"] == 6)
    for connection in connections:
        connection.close()
    busy = after["busy_slot_seconds"] - before["busy_slot_seconds"]
    assert 6 * 0.049 <= busy <= 2 * (after["seconds"] - before["seconds"])
    assert max(sample[1] for sample in after["timeline"]) == 2
    assert after["timeline"][-1][1:] == [0, 0]


def test_the_counters_tell_prompts_apart(simulator: Simulator) -> None:
    for prompt in ("a", "a", "b"):
        ask(simulator, prompt, temperature=0.5, tools=TOOLS)
    simulator.play("http_500")
    ask(simulator, "b", temperature=0.5, tools=TOOLS)
    stats = simulator.stats(prompts=True)
    assert stats["by_prompt"] == {
        key_of("a"): {"requests": 2, "answers": 2},
        key_of("b"): {"requests": 2, "answers": 1},
    }
    assert (stats["requests"], stats["answers"], stats["bodies"], stats["prompts"]) == (4, 3, 4, 2)
    assert (stats["requests_a_prompt"], stats["answers_a_prompt"]) == ({"2": 2}, {"1": 1, "2": 1})
    assert stats["last_request"] == {"model": "kimi-k2.5", "temperature": 0.5, "tools": TOOLS}
    assert "by_prompt" not in simulator.stats()


def test_connections_are_counted_once_however_much_they_carry(simulator: Simulator) -> None:
    before = simulator.stats()["connections"]
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=PATIENCE_SECONDS)
    body = json.dumps({"messages": [{"role": "user", "content": "a"}]})
    for _ in range(5):
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        connection.getresponse().read()
    connection.close()
    assert simulator.stats()["connections"] == before + 2  # that one, and the one that asks for the counters


def test_a_play_that_cannot_be_played_changes_nothing(simulator: Simulator) -> None:
    playing = simulator.play("vllm", latency="fixed:0.001")
    for wrong in ({"persona": "nobody"}, {"faults": ["x"]}, {"latency": "x"}, {"slots": 0}, {"colour": "red"}):
        with pytest.raises(ValueError, match=r"\w"):
            simulator.play(**wrong)
    assert simulator.play() == playing
    assert simulator.reset()["persona"] == "sglang"


# Routes and the process


def test_the_models_and_the_routes_that_are_not_there(simulator: Simulator) -> None:
    model = send(simulator, "GET", "/v1/models").json["data"][0]
    assert (model["id"], model["owned_by"], model["max_model_len"]) == ("kimi-k2.5", "sglang", 262_144)
    assert send(simulator, "GET", "/v1/nope").json == {"detail": "Not Found"}
    assert send(simulator, "POST", "/v1/v1/chat/completions", {}).status == 404
    assert send(simulator, "GET", "/v1/chat/completions").status == 405
    wrong = send(simulator, "POST", "/v1/chat/completions", b"{}", **{"content-type": "text/plain"})
    assert (wrong.status, wrong.json["object"]) == (400, "error")


def test_a_key_is_asked_for_and_told_by_server_info() -> None:
    arguments = ["--api-key", "sk-1", "--admin-api-key", "sk-2", "--persona", "sglang_parser", "--model", "m"]
    with Simulator(*arguments) as simulator:
        assert send(simulator, "GET", "/v1/models").json == {"error": "Unauthorized"}
        assert ask(simulator).status == 401
        assert send(simulator, "GET", "/health").status == 200
        for path in ("/server_info", "/get_server_info"):
            info = send(simulator, "GET", path, authorization="Bearer sk-1").json
            assert (info["api_key"], info["admin_api_key"]) == ("sk-1", "sk-2")
            assert (info["reasoning_parser"], info["tool_call_parser"], info["version"]) == (
                "kimi_k2",
                "kimi_k2",
                "0.5.23",
            )
            assert "--api-key sk-1" in info["launch_command"]
        simulator.play("http_401")
        body = json.dumps({"messages": [{"role": "user", "content": "a"}]}).encode()
        got = send(simulator, "POST", "/v1/chat/completions", body, authorization="Bearer sk-1")
        assert "sk-1" in got.json["message"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0_whatever_is_open(number: signal.Signals) -> None:
    with (
        Simulator("--persona", "hang", "--slots", "1") as simulator,
        ask_and_wait(simulator, "generated") as first,
        ask_and_wait(simulator, "queued"),
        ask_and_wait(simulator, "streamed", stream=True),
    ):
        simulator.wait_until(lambda stats: (stats["busy"], stats["queued"]) == (1, 2))
        assert simulator.stop(number) == 0
        assert first.recv(1) == b""


def test_it_comes_back_under_the_same_address_after_a_crash() -> None:
    with Simulator("--persona", "hang") as simulator, ask_and_wait(simulator):
        port = simulator.port
        simulator.wait_until(lambda stats: stats["busy"] == 1)
        simulator.restart()
        assert simulator.port == port
        assert simulator.stats()["requests"] == 0


def test_two_cannot_listen_on_one_port(simulator: Simulator) -> None:
    command = [sys.executable, "-m", "worker.simulator", "--port", str(simulator.port)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "cannot listen" in ended.stderr


def test_it_is_silent_but_for_one_line_and_free_of_warnings() -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "worker.simulator", "--persona", "disconnect"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("simulator listening on http://127.0.0.1:")
        connection = http.client.HTTPConnection("127.0.0.1", int(line.rpartition(":")[2]), timeout=PATIENCE_SECONDS)
        body = json.dumps({"messages": [{"role": "user", "content": "a"}]})
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        with pytest.raises(http.client.IncompleteRead):
            connection.getresponse().read()
        connection.close()
        process.terminate()
        rest, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, rest, errors) == (0, "", "")
