"""Prompts that kill their server, or that it can never answer, end as failed and take no other job along."""

from pathlib import Path

from tests.acceptance.test_main_job import prompts
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.simulator import Simulator


def poisoned(size: int, words: dict[int, str]) -> list[str]:
    return [f"{words[n]} {prompt}" if n in words else prompt for n, prompt in enumerate(prompts(size))]


def test_prompts_that_cut_everything_fail_and_all_others_are_done_untouched(product: Product) -> None:
    killers = dict.fromkeys((3, 40), "killer")
    product.import_prompts("killers", poisoned(60, killers))
    with Simulator("--fault", "drops_all@prompt:killer", "--latency", "fixed:0.05") as simulator:
        said = product.finish(simulator.url, "--concurrency", "8", code=6)
    failed = product.rows("SELECT sample_id, cause, deaths FROM job WHERE state = 'failed' ORDER BY id")
    assert {row[0] for row in failed} == {f"s{number}" for number in killers}
    # The server is well right after, so either sentence is true: six deaths and cuts make a killer of it, and where
    # nothing else was in flight to see the server go, its tries are over first.
    whole = {("kills_server", deaths) for deaths in (4, 5, 6)}
    assert {row[1:] for row in failed} <= whole | {("cut", deaths) for deaths in range(6)}
    assert product.count("done") == 58
    assert product.value("SELECT sum(tries) FROM job WHERE state = 'done'") == 0
    assert "endpoint_down" in said
    product.check_invariants()


def test_a_prompt_that_ends_the_server_s_process_is_found_over_its_restarts(product: Product) -> None:
    product.import_prompts("fatal", poisoned(30, {5: "killer"}))
    with Simulator("--fault", "dies@prompt:killer", "--latency", "fixed:0.05") as simulator:
        with product.worker(simulator.url, "--until-empty", "--concurrency", "8") as running:
            ended = _restarted_until_over(simulator, running)
            running.wait(6)
    assert ended >= 4
    assert product.rows("SELECT sample_id, cause FROM job WHERE state = 'failed'") == [("s5", "kills_server")]
    assert product.count("done") == 29


def _restarted_until_over(simulator: Simulator, running: RunningWorker) -> int:
    """Start the server again whenever it ended and the worker has looked at what is left of it; how often.

    Real servers take minutes. One that is back before the worker asks for /health makes a death a cut.
    """
    ended, told = 0, None

    def over() -> bool:
        nonlocal ended, told
        if simulator.process.poll() is not None:
            failures = running.said().count("attempt_failed")
            told = failures if told is None else told
            if failures > told:
                simulator.restart()
                ended, told = ended + 1, None
        return running.process.poll() is not None

    wait_for(over, "the worker ends")
    return ended


def test_prompts_that_are_always_500_fail_after_their_tries_and_all_others_are_done(product: Product) -> None:
    """They stand at the head: at first nothing shows that the server is well, but that it answers a small question."""
    product.import_prompts("sick", poisoned(60, dict.fromkeys(range(20), "sick")))
    product.run("datasets", "set", "sick", "--max-attempts", "2")
    with Simulator("--fault", "http_500@prompt:sick", "--latency", "fixed:0.02") as simulator:
        said = product.finish(simulator.url, "--concurrency", "16", code=6)
    assert "endpoint_ill" in said
    assert product.rows("SELECT DISTINCT cause, tries FROM job WHERE state = 'failed'") == [("server_error", 2)]
    assert (product.count("failed"), product.count("done")) == (20, 40)
    assert not list(Path(product.folder).glob("core*"))


def test_connections_that_are_cut_by_chance_make_no_prompt_a_killer(product: Product) -> None:
    product.import_prompts("flaky", prompts(150))
    product.run("datasets", "set", "flaky", "--max-attempts", "60")
    with Simulator("--fault", "disconnect@every:4", "--latency", "uniform:0.01,0.05") as simulator:
        product.finish(simulator.url, "--concurrency", "16")
    assert product.count("done") == 150
    product.check_invariants()
