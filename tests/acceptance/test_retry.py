"""`thinkledger retry` with a real worker: more tokens for what was cut, and nothing lost where that fails."""

import json

from tests.acceptance.test_main_job import prompts
from tests.support.product import Product
from tests.support.simulator import Simulator


def test_lost_answers_are_asked_again_with_more_tokens(product: Product) -> None:
    product.import_prompts("d", prompts(12))
    product.run("datasets", "set", "d", "--gate", "0")  # of so few answers, two lost ones would hold the dataset
    with Simulator("--fault", "no_thought@first:2") as simulator:
        product.finish(simulator.url)
        assert product.value("SELECT count(*) FROM job WHERE verdict = 'missing'") == 2
        choice = ("retry", "d", "--verdict", "missing")
        assert product.run(*choice, "--dry-run").stdout == b"d: 2 jobs would be asked again\n  done missing  2\n"
        assert b"--yes" in product.run(*choice, code=4).stderr
        product.run(*choice, "--yes", "--expect", "3", code=4)
        assert product.count("ready") == 0
        product.run(*choice, "--yes", "--expect", "2", "--max-tokens", "12345")
        assert product.count("ready") == 2
        # The earlier answers stand meanwhile.
        product.run("export", "--dataset", "d", "-o", "a.jsonl", "--only", "done", "--allow-uncaptured", code=6)
        assert len((product.folder / "a.jsonl").read_bytes().splitlines()) == 12
        product.finish(simulator.url)
        assert simulator.stats()["last_request"]["max_tokens"] == 12345
    product.check_invariants()
    assert product.rows("SELECT verdict, count(*) FROM job GROUP BY 1") == [("split_from_content", 12)]
    assert product.value("SELECT count(*) FROM response WHERE superseded_seq IS NOT NULL") == 2
    assert len(product.export("d", "b.jsonl").splitlines()) == 12


def test_a_retry_that_is_refused_leaves_the_earlier_answer(product: Product) -> None:
    product.import_prompts("d", prompts(3))
    product.run("datasets", "set", "d", "--gate", "0")
    with Simulator("--persona", "no_thought") as simulator:
        product.finish(simulator.url, code=7)
    product.run("datasets", "resume", "d")
    product.run("retry", "d", "--verdict", "missing", "--yes")
    with Simulator("--persona", "http_400") as simulator:
        product.finish(simulator.url)
    product.check_invariants()
    assert product.rows("SELECT DISTINCT state, verdict FROM job") == [("done", "missing")]
    assert product.value("SELECT count(*) FROM failure") == 3


def test_the_token_limit_of_an_import_is_none_of_a_retry(product: Product) -> None:
    (product.folder / "thinkledger.toml").write_text("max_tokens = 99\n")
    product.import_prompts("d", prompts(1))
    with Simulator("--persona", "http_400") as simulator:
        product.finish(simulator.url, code=6)
    product.run("retry", "d", "--state", "failed", "--yes")
    assert product.rows("SELECT state, params FROM job") == [("ready", None)]


def test_what_cannot_be_meant_has_its_exit_code(product: Product) -> None:
    product.import_prompts("d", prompts(1))
    product.run("retry", "none such", "--state", "failed", "--yes", code=3)
    product.run("retry", "d", "--yes", code=2)
    product.run("retry", "d", "--state", "leased", code=2)
    found = json.loads(product.run("retry", "d", "--state", "failed", "--json").stdout)
    assert (found["chosen"], found["retried"]) == (0, 0)
