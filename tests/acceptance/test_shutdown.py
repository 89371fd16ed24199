"""SIGTERM drains, a second one releases; nothing is asked twice for it."""

import signal

import pytest

from tests.acceptance.test_main_job import check_export, prompts
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_drained_worker_leaves_no_lease_and_nothing_is_asked_twice(
    product: Product, number: signal.Signals, code: int
) -> None:
    asked = prompts(60)
    product.import_prompts("drained", asked)
    with Simulator("--latency", "fixed:0.3") as simulator:
        with product.worker(simulator.url, "--concurrency", "8", "--grace", "30s") as running:
            wait_for(lambda: simulator.stats()["answers"] >= 8, "the first answers")
            running.signal(number)
            running.wait(code)
        assert product.count("leased") == 0
        assert product.count("done") + product.count("ready") == 60
        assert product.count("done") == simulator.stats()["answers"]
        product.finish(simulator.url)
        assert simulator.stats()["requests_a_prompt"] == {"1": 60}
    product.check_invariants()
    check_export(product.export("drained", "out.jsonl"), asked)


def test_a_second_signal_releases_at_once_and_burns_nothing(product: Product) -> None:
    product.import_prompts("released", prompts(6))
    with Simulator("--persona", "hang") as simulator:
        with product.worker(simulator.url, "--grace", "600s") as running:
            wait_for(lambda: simulator.stats()["open"] == 6, "6 requests in flight")
            running.signal(signal.SIGTERM)
            wait_for(lambda: "draining" in running.said(), "the first signal was heard")
            running.signal(signal.SIGTERM)
            running.wait(143)
    assert product.rows("SELECT DISTINCT state, tries, expiries FROM job") == [("ready", 0, 0)]


def test_answers_longer_than_the_grace_are_released(product: Product) -> None:
    product.import_prompts("graceless", prompts(3))
    with Simulator("--persona", "hang") as simulator:
        with product.worker(simulator.url, "--grace", "0.2s") as running:
            wait_for(lambda: simulator.stats()["open"] == 3, "3 requests in flight")
            running.signal(signal.SIGTERM)
            running.wait(143)
    assert product.rows("SELECT DISTINCT state, tries, expiries FROM job") == [("ready", 0, 0)]


def test_whoever_is_told_to_stop_twice_leaves_no_lease(product: Product) -> None:
    """Also when a claim was under way at that moment."""
    product.import_prompts("stopping", prompts(300))
    with Simulator("--latency", "fixed:0.05") as simulator:
        with product.worker(simulator.url, "--concurrency", "32") as running:
            wait_for(lambda: simulator.stats()["answers"] >= 32, "answers flow")
            running.signal(signal.SIGTERM)
            wait_for(lambda: "draining" in running.said(), "the first signal was heard")
            running.signal(signal.SIGTERM)
            running.wait(143)
    assert product.count("leased") == 0
    product.check_invariants()
