"""What each trouble of a server does to the jobs: decisions are in worker/backoff.py, their effect is seen here."""

import socket
from collections.abc import Iterator

import pytest

from app.store.codec import unpack
from tests.acceptance.test_main_job import check_export, prompts
from tests.integration.store import raw
from tests.support.dashboard import dashboard
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_endpoint_that_is_down_at_the_start_is_waited_for_and_burns_nothing(product: Product) -> None:
    asked = prompts(20)
    product.import_prompts("patient", asked)
    simulator = Simulator(port=free_port())
    with product.worker(simulator.url, "--until-empty") as running:
        wait_for(lambda: "endpoint_not_ready" in running.said(), "the worker found the endpoint down")
        with simulator:
            running.wait(0)
    assert product.rows("SELECT DISTINCT state, attempt, tries, expiries FROM job") == [("done", 1, 0, 0)]
    check_export(product.export("patient", "out.jsonl"), asked)


def test_an_endpoint_that_goes_away_and_comes_back_burns_nothing(product: Product) -> None:
    asked = prompts(120)
    product.import_prompts("flapping", asked)
    with Simulator("--latency", "fixed:0.1") as simulator:
        with product.worker(simulator.url, "--until-empty", "--concurrency", "8") as running:
            wait_for(lambda: product.count("done") >= 8, "the first answers")
            simulator.kill()
            wait_for(lambda: "endpoint_down" in running.said() or "cut" in running.said(), "the worker noticed")
            simulator.start()
            running.wait(0)
    assert product.count("failed") == 0
    product.check_invariants()
    check_export(product.export("flapping", "out.jsonl"), asked)


def test_a_run_that_ends_leaves_no_alarm_whose_reason_is_gone(product: Product) -> None:
    """Its last look is made at the end: nobody may look after it, and the server would be "down" for ever."""
    product.import_prompts("well", prompts(8))
    with Simulator("--latency", "fixed:1") as simulator:
        with product.worker(simulator.url, "--until-empty", "--concurrency", "4") as running:
            wait_for(lambda: product.count("done") >= 1, "the first answers")
            raw.script(
                product.db,
                "INSERT INTO alarm (kind, subject, since_ms, last_ms, message)"
                " VALUES ('endpoint_down', 'url http://gone/v1', 1, 1, 'http://gone/v1 is down')",
            )
            running.wait(0)
    assert product.rows("SELECT state FROM alarm WHERE kind = 'endpoint_down'") == [("cleared",)]


@pytest.mark.parametrize(
    ("persona", "words"),
    [("http_401", "refuses the API key"), ("http_404_model", "does not know the model")],
)
def test_what_only_a_person_can_mend_stops_the_worker_with_a_sentence(
    product: Product, persona: str, words: str
) -> None:
    product.import_prompts("stopped", prompts(5))
    with Simulator("--persona", persona) as simulator:
        said = product.finish(simulator.url, code=2)
    assert words in said
    assert product.rows("SELECT DISTINCT state, tries FROM job") == [("ready", 0)]


def test_a_missing_key_stops_before_anything_is_claimed(product: Product) -> None:
    product.import_prompts("keyless", prompts(2))
    with Simulator("--api-key", "sk-canary-1234") as simulator:
        said = product.finish(simulator.url, code=2)
    assert "refuses the API key" in said
    assert product.rows("SELECT DISTINCT state, attempt FROM job") == [("ready", 0)]


@pytest.mark.parametrize(
    ("persona", "times"),
    [
        *((persona, 4) for persona in ("http_429", "http_503", "http_500", "http_502", "http_504")),
        *((persona, 4) for persona in ("disconnect", "abort")),
        *(
            (persona, 1) for persona in ("cut_json", "html_200", "error_200", "garbage")
        ),  # more of them hold the dataset
    ],
)
def test_trouble_that_passes_costs_no_job(product: Product, persona: str, times: int) -> None:
    asked = prompts(12)
    product.import_prompts("passing", asked)
    with Simulator("--fault", f"{persona}@first:{times}") as simulator:
        product.finish(simulator.url, "--concurrency", "4")
    assert product.rows("SELECT DISTINCT state FROM job") == [("done",)]
    assert product.value("SELECT count(*) FROM failure") == times
    product.check_invariants()
    check_export(product.export("passing", "out.jsonl"), asked)


def test_a_request_that_cannot_be_answered_fails_alone_and_keeps_the_server_s_words(product: Product) -> None:
    product.import_prompts(
        "poisoned", ["poison " + prompt if n == 3 else prompt for n, prompt in enumerate(prompts(10))]
    )
    with Simulator("--fault", "http_400@prompt:poison") as simulator:
        product.finish(simulator.url, code=6)
        assert simulator.stats()["requests_a_prompt"] == {"1": 10}
    assert product.rows("SELECT sample_id, cause, attempt FROM job WHERE state = 'failed'") == [("s3", "rejected", 1)]
    (kept,) = product.rows("SELECT failure.http_status, response_id IS NOT NULL FROM failure")
    assert kept == (400, 1)


def test_a_request_over_its_time_is_given_up_and_asked_again(product: Product) -> None:
    asked = prompts(6)
    product.import_prompts("hanging", asked)
    with Simulator("--fault", "hang@first:2") as simulator:
        product.finish(simulator.url, "--request-timeout", "1s")
    assert product.rows("SELECT DISTINCT cause FROM failure") == [("timed_out",)]
    check_export(product.export("hanging", "out.jsonl"), asked)


def test_a_body_over_the_limit_fails_for_good_and_keeps_its_beginning(product: Product) -> None:
    product.import_prompts("huge", prompts(1))
    with Simulator("--persona", "big_body:3000000") as simulator:
        product.finish(simulator.url, "--max-body", "2MiB", code=6)
    assert product.rows("SELECT cause FROM job") == [("too_large",)]
    assert product.value("SELECT length(body) FROM failure") == 2**20


def test_the_key_is_found_nowhere_in_the_store(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_MODEL_KEY", "sk-canary-5678")
    product.import_prompts("secret", prompts(4))
    with Simulator("--api-key", "sk-canary-5678", "--admin-api-key", "adm-canary-9") as simulator:
        product.finish(simulator.url, "--api-key-env", "MY_MODEL_KEY")
        simulator.play("http_401")  # echoes the key it was sent
        product.import_prompts("more", prompts(8)[4:])
        product.finish(simulator.url, "--api-key-env", "MY_MODEL_KEY", code=2)
    product.export("secret", "out.jsonl")
    with dashboard(product.folder, "--no-auth", db=product.db.name) as web:
        for path in ("/", "/datasets/more", "/datasets/more/samples/s0", "/workers", "/alerts", "/api/v1/workers"):
            shown = web.ask(path)
            assert shown.status == 200, path
            assert b"canary" not in shown.raw, path
    for file in product.folder.rglob("*"):
        if file.is_file():
            assert b"canary" not in file.read_bytes(), file.name
    assert [place for place, value in _stored(product) if b"canary" in value] == []


def _stored(product: Product) -> Iterator[tuple[str, bytes]]:
    """Every text and every body of a store, unpacked."""
    for (table,) in product.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        for row in product.rows(f"SELECT * FROM {table}"):
            for value in row:
                if isinstance(value, str | bytes):
                    yield table, value.encode() if isinstance(value, str) else value
    for codec, body in product.rows("SELECT codec, raw FROM body"):
        yield "response", unpack(codec, body)


def test_a_malformed_answer_that_never_heals_fails_after_its_tries(product: Product) -> None:
    """Counted only because the server answers others in the meantime."""
    product.import_prompts("tries", [("always bad " if n == 0 else "") + p for n, p in enumerate(prompts(30))])
    product.run("datasets", "set", "tries", "--max-attempts", "2")
    with Simulator("--fault", "cut_json@prompt:always bad", "--latency", "fixed:0.05") as simulator:
        product.finish(simulator.url, "--concurrency", "2", code=6)
    assert product.rows("SELECT sample_id, cause, tries FROM job WHERE state = 'failed'") == [("s0", "malformed", 2)]
    assert product.value("SELECT count(*) FROM response WHERE job_id = 1") >= 2


def test_prompts_that_are_all_bad_hold_the_dataset_once_and_fail_after_their_tries(product: Product) -> None:
    """The check of the first answers cannot tell them from a broken server; after a person's word they end."""
    product.import_prompts("bad", ["always bad " + prompt for prompt in prompts(2)])
    product.run("datasets", "set", "bad", "--max-attempts", "3")
    with Simulator("--fault", "cut_json@prompt:always bad", "--latency", "fixed:0.2") as simulator:
        product.finish(simulator.url, preflight=True, code=7)
        assert product.rows("SELECT DISTINCT state, tries FROM job") == [("waiting", 1)]
        product.run("datasets", "resume", "bad")
        product.finish(simulator.url, preflight=True, code=6)
    assert product.rows("SELECT DISTINCT state, cause, tries FROM job") == [("failed", "malformed", 3)]
    assert product.rows("SELECT kind FROM hold") == []
