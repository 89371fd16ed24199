"""Conversations turn by turn under kill -9: every history that was sent is what was accepted before it."""

import json
import os
import random
import signal
import time
from collections import Counter

import pytest

from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator
from tests.support.talks import answers, check_history, conversations, place

CONVERSATIONS = int(os.environ.get("ACCEPTANCE_CONVERSATIONS", "24"))  # 200 and 20 kills: the run of the plan
KILLS = int(os.environ.get("ACCEPTANCE_CONVERSATION_KILLS", "3"))
MOST_TURNS = 12
SLOTS = 8


@pytest.mark.timeout(1800)
def test_every_history_sent_is_what_was_accepted_before_it(product: Product) -> None:
    chance = random.Random(7)
    asked = {f"c{number}": 1 + number % MOST_TURNS for number in range(CONVERSATIONS)}
    product.run("import", "talks", str(conversations(product.folder, asked)), "--turns", "all")
    record = product.folder / "requests.jsonl"
    cut_off = 0
    with Simulator("--latency", "uniform:0.01,0.06", "--record", str(record), "--answer-bytes", "300") as simulator:
        for kill in range(KILLS):
            aim = answered(product) + 1 + chance.randrange(max(1, left(product, asked) // (KILLS - kill + 1)))
            running = product.start_worker(simulator.url, "--concurrency", str(SLOTS), "--until-empty")
            wait_for(lambda aim=aim: answered(product) >= aim, f"{aim} turns answered")
            time.sleep(chance.random() * 0.05)  # any moment between two answers
            running.kill()
            cut_off += product.count("leased")
        product.finish(simulator.url, "--concurrency", str(SLOTS))
    product.run("verify", "--full")
    assert product.count("done") == CONVERSATIONS
    assert answered(product) == sum(asked.values())
    sent = [json.loads(line)["messages"] for line in record.read_text().splitlines()]
    accepted = answers(product)
    assert {name: len(turns) for name, turns in accepted.items()} == asked
    for messages in sent:
        check_history(messages, accepted)
    times = Counter(place(messages) for messages in sent)
    assert times.keys() == {(name, turn) for name, turns in asked.items() for turn in range(turns)}
    assert times.total() - len(times) <= min(cut_off, KILLS * SLOTS)  # only what was in flight is asked again


def test_a_drain_ends_after_the_turns_that_are_asked(product: Product) -> None:
    asked = {f"c{number}": MOST_TURNS for number in range(4)}
    product.run("import", "talks", str(conversations(product.folder, asked)), "--turns", "all")
    with Simulator("--latency", "fixed:0.2", "--answer-bytes", "300") as simulator:
        with product.worker(simulator.url, "--concurrency", "4", "--grace", "30s") as running:
            wait_for(lambda: answered(product) >= 6, "the first turns")
            running.signal(signal.SIGTERM)
            running.wait(143)
        stopped_at = answered(product)
        assert simulator.stats()["answers"] == stopped_at < 4 * MOST_TURNS
        assert product.rows("SELECT DISTINCT state, expiries FROM job") == [("ready", 0)]
        product.finish(simulator.url)
        assert simulator.stats()["requests"] == 4 * MOST_TURNS
    product.run("verify", "--full")


def test_reasoning_and_the_files_results_go_back_in_a_tool_loop(product: Product) -> None:
    """The simulated model calls its tool at every turn: once the file has the result, once it has not."""
    call = {"name": "lookup", "arguments": "{}"}
    said = [
        {"from": "human", "value": "look it up"}, {"from": "function_call", "value": json.dumps(call)},
        {"from": "observation", "value": "42"}, {"from": "gpt", "value": "so"}, {"from": "human", "value": "and?"},
    ]  # fmt: skip
    row = {"id": "t", "tools": [{"name": "lookup", "parameters": {}}], "conversations": said}
    (product.folder / "tools.jsonl").write_text(json.dumps(row) + "\n")
    product.run("import", "tools", "tools.jsonl", "--turns", "all", "--gate", "0")
    record = product.folder / "requests.jsonl"
    with Simulator("--persona", "tool_calls", "--record", str(record), "--answer-bytes", "300") as simulator:
        product.finish(simulator.url)
    first, second = (json.loads(line)["messages"] for line in record.read_text().splitlines())
    assert first == [{"role": "user", "content": "look it up"}]
    (reasoning, content), _ = product.rows("SELECT reasoning, content FROM answer ORDER BY turn")
    answer = {"role": "assistant", "content": content, "reasoning_content": reasoning}
    result = {"role": "tool", "content": "42", "tool_call_id": "functions.lookup:0"}
    assert second == [*first, answer, result]
    assert product.rows("SELECT state, turn, turns FROM job") == [("done", 2, 3)]
    product.run("verify", "--full")


def answered(product: Product) -> int:
    """Turns that are answered, those of conversations that have only one included."""
    return int(product.value("SELECT sum(CASE WHEN turns > 1 THEN turn ELSE state = 'done' END) FROM job"))


def left(product: Product, asked: dict[str, int]) -> int:
    return sum(asked.values()) - answered(product)
