"""kill -9 at any moment, then start again: nothing lost, nothing doubled, only what was in flight asked again."""

import os
import random
import time

import pytest

from tests.acceptance.test_main_job import check_export, prompts
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator

KILLS = int(os.environ.get("ACCEPTANCE_KILLS", "6"))
JOBS = int(os.environ.get("ACCEPTANCE_JOBS", "400"))
SLOTS = 16


@pytest.mark.timeout(1800)
def test_a_worker_killed_at_random_moments_loses_and_doubles_nothing(product: Product) -> None:
    chance = random.Random(20)
    asked = prompts(JOBS)
    product.import_prompts("killed", asked)
    in_flight = 0
    with Simulator("--latency", "uniform:0.02,0.1") as simulator:
        for kill in range(KILLS):
            done_before = product.count("done")
            running = product.start_worker(simulator.url, "--concurrency", str(SLOTS), "--until-empty")
            aim = done_before + 1 + chance.randrange(max(1, (JOBS - done_before) // (KILLS - kill + 1)))
            wait_for(lambda aim=aim: product.count("done") >= aim, f"{aim} jobs done")
            time.sleep(chance.random() * 0.05)  # any moment between two answers
            running.kill()
            in_flight += product.count("leased")
        product.finish(simulator.url, "--concurrency", str(SLOTS))
        repeats = simulator.stats()["requests_a_prompt"]
    asked_again = sum((int(times) - 1) * count for times, count in repeats.items())
    assert sum(repeats.values()) == JOBS
    assert asked_again <= min(in_flight, KILLS * SLOTS)
    product.check_invariants()
    check_export(product.export("killed", "out.jsonl"), asked)


def test_leases_of_a_killed_worker_are_taken_by_a_live_one(product: Product) -> None:
    """The kernel frees the dead worker's lock, so nobody waits for the lease to run out (two hours here)."""
    asked = prompts(8)
    product.import_prompts("orphans", asked)
    with Simulator("--persona", "hang") as simulator:
        with product.worker(simulator.url, "--concurrency", "8") as dying:
            wait_for(lambda: simulator.stats()["open"] == 8, "8 requests in flight")
            dying.kill()
        assert product.count("leased") == 8
        simulator.play("sglang")
        said = product.finish(simulator.url)
    assert "worker_rescued" in said
    check_export(product.export("orphans", "out.jsonl"), asked)
    assert product.rows("SELECT DISTINCT tries, expiries, attempt FROM job") == [(0, 1, 2)]
    assert not list((product.folder / "thinkledger.db.workers").iterdir())


def test_a_body_that_was_stored_and_not_read_is_read_and_not_asked_again(product: Product) -> None:
    """Killed between the two halves: the first committed the body, the second would have read it."""
    asked = prompts(1)
    product.import_prompts("unread", asked)
    with Simulator() as simulator:
        product.finish(simulator.url)
        unsettle(product)
        said = product.finish(simulator.url)
        assert simulator.stats()["requests_a_prompt"] == {"1": 1}
    assert "worker_rescued" in said
    product.check_invariants()
    check_export(product.export("unread", "out.jsonl"), asked)


def unsettle(product: Product) -> None:
    """Put the store back to the moment between the two commits of its only answer, its worker dead."""
    import sqlite3

    connection = sqlite3.connect(product.db)
    with connection:
        connection.execute("INSERT INTO unread SELECT id, job_id, worker_id FROM response")
        connection.execute("DELETE FROM reading")
        connection.execute("DELETE FROM token_ids")
        connection.execute("UPDATE response SET accepted_seq = NULL")
        connection.execute(
            "UPDATE job SET state = 'leased', lease_worker = 1, lease_deadline_ms = 9e15, verdict = NULL, "
            "finished_ms = NULL, completion_tokens = NULL, expected = NULL"
        )
        connection.execute("UPDATE worker SET state = 'live', ttl_ms = 0, stopped_ms = NULL")
    connection.close()
