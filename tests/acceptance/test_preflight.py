"""One real answer before the first job, and `probe`, which shows it."""

import json

import pytest

from tests.acceptance.test_main_job import prompts
from tests.support.product import Product
from tests.support.simulator import Simulator


@pytest.mark.parametrize("persona", ["no_thought", "blank_field", "empty_thought"])
def test_a_server_without_reasoning_is_asked_for_no_job(product: Product, persona: str) -> None:
    product.import_prompts("guarded", prompts(5))
    with Simulator("--persona", persona) as simulator:
        said = product.finish(simulator.url, code=7, preflight=True)
        assert simulator.stats()["requests"] == 1
    assert "Nothing was asked yet" in said
    assert product.rows("SELECT DISTINCT state, attempt FROM job") == [("ready", 0)]


@pytest.mark.parametrize(
    ("persona", "where"), [("sglang", "inside the content"), ("vllm", "field of its own (reasoning)")]
)
def test_the_preflight_says_where_reasoning_is(product: Product, persona: str, where: str) -> None:
    product.import_prompts("open", prompts(5))
    with Simulator("--persona", persona) as simulator:
        said = product.finish(simulator.url, preflight=True)
        assert simulator.stats()["requests"] == 6
    assert where in said
    assert product.count("done") == 5


def test_thinking_switched_off_expects_none(product: Product) -> None:
    file = product.folder / "instant.jsonl"
    file.write_text('{"prompt": "Say hello."}\n')
    product.run("import", "instant", str(file), "--thinking", "off")
    with Simulator() as simulator:
        product.finish(simulator.url, preflight=True)
        assert simulator.stats()["last_request"]["temperature"] == 0.6
    assert product.rows("SELECT verdict, expected FROM job") == [("none_expected", 0)]
    assert product.export("instant", "out.jsonl").count(b"\n") == 1


def test_probe_shows_the_fingerprint_without_its_secrets(product: Product) -> None:
    with Simulator("--persona", "sglang_parser", "--admin-api-key", "adm-canary-1") as simulator:
        found = json.loads(product.run("probe", "--endpoint", simulator.url, "--n", "2", "--json").stdout)
    assert found["fingerprint"]["reasoning_parser"] == "kimi_k2"
    assert [answer["verdict"] for answer in found["answers"]] == ["split_from_content"] * 2
    assert "canary" not in json.dumps(found)
    assert not product.db.exists()


def test_probe_exits_7_without_reasoning_and_5_without_a_server(product: Product) -> None:
    with Simulator("--persona", "no_thought") as simulator:
        product.run("probe", "--endpoint", simulator.url, code=7)
        url = simulator.url
    product.run("probe", "--endpoint", url, code=5)


def test_probe_does_not_show_the_key_that_a_server_echoes(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_KEY", "sk-canary-4321")
    with Simulator("--persona", "http_401") as simulator:
        for form in ([], ["--json"]):
            said = product.run("probe", "--endpoint", simulator.url, "--api-key-env", "PROBE_KEY", *form, code=7)
            assert b"canary" not in said.stdout + said.stderr
