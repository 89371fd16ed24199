"""The simulator as a process: its slots, its counts, its signals."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.integration.simulator_kit import TOOLS, ask, ask_and_wait, send
from tests.support.forks import ROOT
from tests.support.simulator import PATIENCE_SECONDS, Simulator
from worker.simulator.answers import full_text, key_of


@pytest.fixture(scope="module")
def running() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: Simulator) -> Simulator:
    running.reset()
    return running


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
