"""The main job from prompts to JSONL, over several workers."""

import json
import os

import pytest

from tests.support.product import Product
from tests.support.simulator import Simulator
from worker.simulator.answers import answer_of

JOBS = int(os.environ.get("ACCEPTANCE_JOBS", "300"))
KEYS = ["sample_id", "messages", "reasoning", "content", "finish_reason", "usage"]


def prompts(count: int = JOBS) -> list[str]:
    return [f"Question number {number}: what is {number} times {number + 7}?" for number in range(count)]


def check_export(exported: bytes, asked: list[str]) -> None:
    """Every row in order, its texts those that the simulator generated for that very prompt, byte for byte."""
    rows = [json.loads(line) for line in exported.split(b"\n")[:-1]]
    assert [row["sample_id"] for row in rows] == [f"s{number}" for number in range(len(asked))]
    for row, prompt in zip(rows, asked, strict=True):
        truth = answer_of(prompt)
        assert list(row) == KEYS
        assert (row["reasoning"], row["content"]) == (truth.reasoning, truth.content)
        assert row["reasoning"].startswith(" ")
        assert row["finish_reason"] == "stop"


@pytest.mark.timeout(900)
def test_two_workers_ask_each_prompt_once_and_export_it_exactly(product: Product) -> None:
    asked = prompts()
    product.import_prompts("B1_glaive", asked)
    with Simulator("--persona", "no_reasoning_parser") as simulator:
        with (
            product.worker(simulator.url, "--until-empty") as one,
            product.worker(simulator.url, "--until-empty") as other,
        ):
            one.wait(0)
            other.wait(0)
        assert simulator.stats()["requests_a_prompt"] == {"1": JOBS}
    product.check_invariants()
    first = product.export("B1_glaive", "first.jsonl")
    check_export(first, asked)
    assert product.export("B1_glaive", "second.jsonl") == first
    manifest = json.loads((product.folder / "first.jsonl.manifest.json").read_bytes())
    assert (manifest["rows"], manifest["jobs"], manifest["complete"]) == (JOBS, JOBS, True)
    assert manifest["verdicts"] == {"split_from_content": JOBS}
    product.run("export", "--check", "first.jsonl")
    status = product.run("status", "--json").stdout
    progress = json.loads(status)["data"]["datasets"][0]["progress"]
    assert (progress["part"], progress["whole"], progress["percent"]) == (JOBS, JOBS, "100.0 %")


@pytest.mark.parametrize("persona", ["sglang_parser", "vllm"])
def test_servers_that_split_by_themselves_are_captured_too(product: Product, persona: str) -> None:
    asked = prompts(40)
    product.import_prompts("fields", asked)
    with Simulator("--persona", persona) as simulator:
        product.finish(simulator.url, "--separate-reasoning", "on")
    check_export(product.export("fields", "out.jsonl"), asked)
    assert product.rows("SELECT DISTINCT verdict FROM job") == [("captured_field",)]


def test_a_server_with_a_parser_is_asked_for_its_raw_text(product: Product) -> None:
    """SGLang's own splitting loses bytes in several versions, so the lossless mode is the default."""
    product.import_prompts("raw", prompts(5))
    with Simulator("--persona", "sglang_parser") as simulator:
        product.finish(simulator.url)
        sent = simulator.stats()["last_request"]
    assert sent["separate_reasoning"] is False
    assert sent["skip_special_tokens"] is False
    assert product.rows("SELECT DISTINCT verdict FROM job") == [("split_from_content",)]
    assert product.rows("SELECT DISTINCT raw_text_sent FROM response") == [(1,)]


def test_answers_without_reasoning_are_done_but_not_captured_and_not_exported(product: Product) -> None:
    product.import_prompts("lost", prompts(10))
    with Simulator("--persona", "no_thought") as simulator:
        product.finish(simulator.url, code=7)
    assert product.rows("SELECT DISTINCT state, verdict FROM job") == [("done", "missing")]
    product.run("export", "--dataset", "lost", "--output", "out.jsonl", code=6)
    assert (product.folder / "out.jsonl").read_bytes() == b""
    product.run("export", "--dataset", "lost", "--output", "asked.jsonl", "--only", "captured")
    manifest = json.loads((product.folder / "out.jsonl.manifest.json").read_bytes())
    assert manifest["left_out"] == {"missing": 10}
    product.run("export", "--dataset", "lost", "--output", "all.jsonl", "--only", "done", code=7)


def test_token_ids_of_the_server_are_kept(product: Product) -> None:
    from app.store.codec import unpack_ids
    from worker.simulator import tokens
    from worker.simulator.answers import full_text

    asked = prompts(3)
    product.import_prompts("tokens", asked)
    with Simulator() as simulator:
        product.finish(simulator.url)
    stored = product.rows("SELECT answer FROM token_ids ORDER BY response_id")
    texts = {tokens.decode(list(unpack_ids(answer))) for (answer,) in stored}
    assert texts == {full_text(prompt) + "<|im_end|>" for prompt in asked}


def test_two_endpoints_share_the_work(product: Product) -> None:
    product.import_prompts("two", prompts(60))
    with Simulator("--latency", "fixed:0.05") as one, Simulator("--latency", "fixed:0.05") as other:
        product.finish(one.url, "--endpoint", other.url, "--concurrency", "8")
        answers = [simulator.stats()["answers"] for simulator in (one, other)]
    assert sum(answers) == 60
    assert min(answers) > 0


def test_limit_ends_after_so_many_jobs(product: Product) -> None:
    product.import_prompts("limited", prompts(30))
    with Simulator() as simulator, product.worker(simulator.url, "--limit", "7") as running:
        running.wait(0)
    assert product.count("done") == 7


def test_event_streams_are_kept_verbatim_and_read_the_same(product: Product) -> None:
    asked = prompts(20)
    product.import_prompts("streamed", asked)
    with Simulator() as simulator:
        product.finish(simulator.url, "--stream")
        assert simulator.stats()["last_request"]["stream"] is True
    check_export(product.export("streamed", "out.jsonl"), asked)
    assert product.rows("SELECT DISTINCT form FROM response") == [("sse",)]
    rows = [json.loads(line) for line in (product.folder / "out.jsonl").read_bytes().splitlines()]
    assert all(row["usage"]["completion_tokens"] > 0 for row in rows)


def test_a_stream_that_falls_silent_is_cut_and_asked_again(product: Product) -> None:
    asked = prompts(4)
    product.import_prompts("silent", asked)
    with Simulator("--fault", "hang@first:2") as simulator:
        product.finish(simulator.url, "--stream", "--stall-timeout", "1s")
    assert product.rows("SELECT DISTINCT cause FROM failure") == [("timed_out",)]
    check_export(product.export("silent", "out.jsonl"), asked)


def test_a_finished_dataset_needs_no_endpoint(product: Product) -> None:
    product.import_prompts("finished", prompts(2))
    with Simulator() as simulator:
        product.finish(simulator.url)
        url = simulator.url
    product.finish(url)


def test_a_dataset_that_is_not_there_is_named_at_once(product: Product) -> None:
    product.import_prompts("there", prompts(2))
    said = product.finish("http://127.0.0.1:9", "--dataset", "tehre", code=3)
    assert "There is no dataset 'tehre'. There are: there." in said
