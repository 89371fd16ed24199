"""A run whose reasoning is lost stops within a few answers, says why, and goes on after a person's word."""

import json
import os

import pytest

from tests.acceptance.test_main_job import prompts
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator
from worker.simulator.answers import answer_of

JOBS = int(os.environ.get("ACCEPTANCE_GATE_JOBS", "600"))  # 10000: the run of the design
SLOTS = 16  # over all workers
# A slot is free when its body has arrived, so an answer that is being stored flies beside the next request.
IN_FLIGHT = 2 * SLOTS


def settled_when_held(product: Product) -> tuple[int, int]:
    """The numbers with which the hold was set."""
    (numbers,) = product.rows("SELECT part, whole FROM alarm WHERE holds = 1")
    return numbers


def captured(product: Product) -> int:
    return int(product.value("SELECT count(*) FROM job WHERE verdict = 'split_from_content'"))


def check_captured(product: Product, name: str, asked: list[str]) -> int:
    """What was captured is exported exactly; how many rows."""
    rows = [json.loads(line) for line in product.export(name, f"{name}.out.jsonl", "--overwrite", "--allow-incomplete")
            .split(b"\n")[:-1]]  # fmt: skip
    for row in rows:
        truth = answer_of(asked[int(row["sample_id"][1:])])
        assert (row["reasoning"], row["content"]) == (truth.reasoning, truth.content)
    return len(rows)


@pytest.mark.timeout(1800)
def test_a_run_without_reasoning_is_held_within_twenty_answers(product: Product) -> None:
    """Two workers, and neither goes on."""
    asked = prompts(JOBS)
    product.import_prompts("lost", asked)
    half = ("--until-empty", "--concurrency", str(SLOTS // 2))
    with Simulator("--persona", "no_thought", "--latency", "uniform:0.02,0.1") as simulator:
        with product.worker(simulator.url, *half) as one, product.worker(simulator.url, *half) as other:
            said = one.wait(7)
            other.wait(7)
        part, whole = settled_when_held(product)
        assert (part, whole) == (0, 2)
        assert product.count("done") == simulator.stats()["answers"] <= 20 + IN_FLIGHT
        assert product.count("ready") + product.count("done") == JOBS
        assert "dataset_held dataset=lost by=gate reason=0 of the first 2 answers captured" in said
        status = product.run("status").stdout.decode()
        for words in ("HELD by gate", "needs 19 of 20", "samples lost --verdict missing", "datasets resume lost"):
            assert words in status
        product.run("probe", "--endpoint", simulator.url, "--dataset", "lost", code=7)
        lost = product.count("done")
        product.finish(simulator.url, code=7)
        assert product.count("done") == lost  # nothing is asked while it is held
        simulator.play("sglang")
        assert b"1 hold(s) taken back" in product.run("probe", "--endpoint", simulator.url, "--dataset", "lost").stderr
        product.finish(simulator.url, "--concurrency", str(SLOTS))
    assert (product.count("done"), captured(product)) == (JOBS, JOBS - lost)
    product.check_invariants()
    assert check_captured(product, "lost", asked) == JOBS - lost


@pytest.mark.timeout(1800)
def test_a_run_that_loses_its_reasoning_midway_is_held_within_sixty_more(product: Product) -> None:
    """What was captured before stays as it is, and the rest comes after the server is mended."""
    asked, good = prompts(JOBS), JOBS // 2
    product.import_prompts("midway", asked)
    bodies = "SELECT response.id, job_id, raw_sha256, accepted_seq FROM response JOIN job ON job.id = job_id"
    with Simulator("--persona", f"loses_reasoning_after:{good}", "--latency", "uniform:0.02,0.1") as simulator:
        product.finish(simulator.url, "--concurrency", str(SLOTS), code=7)
        part, whole = settled_when_held(product)
        lost = simulator.stats()["answers"] - good
        assert (part, whole) == (39, 50)  # the eleventh of the last fifty
        assert product.count("done") == good + lost
        assert lost <= 60 + IN_FLIGHT
        assert lost <= 11 + IN_FLIGHT  # what it really takes
        kept = product.rows(f"{bodies} WHERE verdict = 'split_from_content'")
        assert len(kept) == check_captured(product, "midway", asked) == good
        simulator.play("sglang")
        product.run("datasets", "resume", "midway")
        product.finish(simulator.url, "--concurrency", str(SLOTS))
    assert (product.count("done"), captured(product)) == (JOBS, JOBS - lost)
    assert set(kept) <= set(product.rows(bodies))
    product.check_invariants()
    assert check_captured(product, "midway", asked) == JOBS - lost


def test_a_running_worker_goes_on_with_other_datasets_and_with_the_held_one_after_resume(product: Product) -> None:
    product.import_prompts("bad", [f"forgetful {prompt}" for prompt in prompts(100)])
    product.import_prompts("good", prompts(100))
    held = "SELECT kind FROM hold JOIN dataset ON dataset.id = dataset_id WHERE name = 'bad'"
    with Simulator("--fault", "no_thought@prompt:forgetful", "--latency", "fixed:0.02") as simulator:
        with product.worker(simulator.url, "--concurrency", "8") as running:
            wait_for(lambda: product.value("SELECT count(*) FROM job WHERE dataset_id = 2 AND state = 'done'") == 100,
                     "the other dataset is done")  # fmt: skip
            assert product.rows(held) == [("gate",)]
            wait_for(lambda: product.count("leased") == 0, "nothing in flight")
            assert product.count("ready") > 60
            assert running.process.poll() is None
            simulator.play(faults=[])
            product.run("datasets", "resume", "bad")
            wait_for(lambda: product.count("done") == 200, "all done")
            assert product.rows(held) == []


def test_on_gate_exit_ends_the_run_with_7_now_and_at_the_next_start(product: Product) -> None:
    product.import_prompts("bad", prompts(100))
    with Simulator("--persona", "no_thought", "--latency", "fixed:0.05") as simulator:
        for _ in range(2):
            with product.worker(simulator.url, "--on-gate", "exit", "--concurrency", "4") as running:
                assert "by=gate" in running.wait(7)
            assert product.count("leased") == 0
            assert product.count("done") <= 2 + 2 * 4
        product.import_prompts("fine", prompts(5))
        simulator.play("sglang")
        product.finish(simulator.url, "--on-gate", "exit", "--dataset", "fine")


@pytest.mark.parametrize(("size", "faults", "code"), [
    (5, ["no_thought@first:5"], 7), (1, ["no_thought@first:1"], 7), (5, ["no_thought@first:1"], 7), (5, [], 0),
    (5, ["cut_json@first:1"], 0), (30, ["no_thought@first:1"], 0), (30, ["truncated@first:2"], 7),
])  # fmt: skip
def test_small_datasets_are_judged_by_what_they_have(product: Product, size: int, faults: list[str], code: int) -> None:
    product.import_prompts("small", prompts(size))
    with Simulator(*(word for fault in faults for word in ("--fault", fault))) as simulator:
        product.finish(simulator.url, code=code)
        product.finish(simulator.url, code=code)
    assert product.count("done") == size
    assert product.rows("SELECT kind FROM hold") == ([("gate",)] if code else [])


@pytest.mark.parametrize(("persona", "kind"), [("cut_json", "unreadable"), ("truncated", "truncated_high")])
def test_other_trouble_holds_a_run_that_was_well(product: Product, persona: str, kind: str) -> None:
    product.import_prompts("well", prompts(300))
    with Simulator("--fault", f"{persona}@after:100", "--latency", "fixed:0.01") as simulator:
        product.finish(simulator.url, "--concurrency", "8", code=7)
    assert product.rows("SELECT kind FROM alarm WHERE holds = 1") == [(kind,)]
    assert product.rows("SELECT kind FROM hold") == [("alarm",)]
    assert (
        product.count("failed") == product.value("SELECT count(*) FROM job WHERE tries > 0 AND state = 'failed'") == 0
    )


def test_a_passed_probe_does_not_end_a_person_s_pause(product: Product) -> None:
    product.import_prompts("paused", prompts(5))
    product.run("datasets", "pause", "paused", "--reason", "lunch")
    with Simulator() as simulator:
        product.run("probe", "--endpoint", simulator.url, "--dataset", "paused")
        product.finish(simulator.url, code=6)
    assert product.rows("SELECT kind, reason FROM hold") == [("person", "lunch")]


def test_a_server_that_changed_is_an_alarm_until_its_first_answers_are_captured(product: Product) -> None:
    product.import_prompts("moved", prompts(60))
    with Simulator() as simulator:
        product.finish(simulator.url, "--dataset", "moved")
        port = simulator.port
    product.import_prompts("more", prompts(60))
    with Simulator("--persona", "sglang_parser", port=port) as simulator:
        with product.worker(simulator.url, "--limit", "10") as running:
            running.wait(0)
        status = product.run("status").stdout.decode()
        assert "ALARM server_changed since" in status
        assert "reasoning_parser kimi_k2" in status
        product.finish(simulator.url)
    assert "ALARM" not in product.run("status").stdout.decode()
