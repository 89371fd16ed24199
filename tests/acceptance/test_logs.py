"""What a run says: one line an event, in the form and in the file that was asked for, and no word of a sample."""

import json
from pathlib import Path

from tests.support.product import Product
from tests.support.simulator import Simulator

WORD = "non-negative finite number"  # of the prompts, and of what the simulator refuses with
KEY = "sk-a-key-of-the-tests-0123456789"


def events(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_run_with_failures_is_json_lines_without_a_prompt_or_a_key(product: Product) -> None:
    """The server refuses some prompts in words that repeat them, and is asked with a key."""
    product.import_prompts("d", [f"{WORD} {number}" for number in range(12)])
    with Simulator("--persona", "sglang") as simulator:
        simulator.play("sglang", faults=["http_400@first:3"])
        start = ("worker", "start", "--endpoint", simulator.url, "--until-empty", "--skip-preflight")
        said = product.start("--log-format", "json", "--log-file", "run.log", *start, THINKLEDGER_API_KEY=KEY)
        try:
            talk = said.wait(6)
        finally:
            said.kill()
    told = events(product.folder / "run.log")
    names = [one["event"] for one in told]
    assert names.count("attempt_failed") == product.count("failed") == 3
    assert names[0] == "worker_started"
    for one in told:
        assert {"at", "level", "event"} <= one.keys()
    assert product.value("SELECT count(*) FROM failure WHERE message LIKE ?", f"%{WORD}%") == 3  # kept, and not logged
    everything = (product.folder / "run.log").read_text(encoding="utf-8") + talk
    assert WORD not in everything
    assert KEY not in everything
    assert "worker_started" not in talk


def test_a_hold_and_its_alarm_are_one_line_each(product: Product) -> None:
    product.import_prompts("lost", [f"{WORD} {number}" for number in range(30)])
    with Simulator("--persona", "no_thought") as simulator:
        said = product.finish(simulator.url, code=7)
    lines = [line.split()[2:] for line in said.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["dataset_held"]] == ["dataset=lost"]
    assert [line[1] for line in lines if line[:1] == ["alarm"] and "holds=True" in line] == ["kind=gate"]
    assert WORD not in said
