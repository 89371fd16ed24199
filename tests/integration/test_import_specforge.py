"""What SpecForge regenerated comes in as finished answers, and what its run lost or doubled is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.product import Product
from tests.support.simulator import Simulator

REASONED = {"content": "It is four.", "reasoning_content": "Two and two."}


def row(sample_id: str | None, *turns: str, status: str = "success", **last: Any) -> dict[str, Any]:
    """A conversation whose user says the turns; the answers between them are `ok`, the last one is `last`."""
    said: list[dict[str, Any]] = []
    for turn in turns:
        said += [{"role": "user", "content": turn}, {"role": "assistant", "content": "ok"}]
    if last:
        said[-1] = {"role": "assistant", **last}
    facts = {"id": sample_id, "conversations": said, "status": status}
    return {key: value for key, value in facts.items() if value is not None}


def failed(sample_id: str | None, status: str, error: str) -> dict[str, Any]:
    return row(sample_id, "what?", status=status) | {"error": error}


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


def write(product: Product, name: str, *rows: dict[str, Any]) -> None:
    (product.folder / name).write_text("".join(json.dumps(one) + "\n" for one in rows))


def bring(product: Product, name: str, code: int = 0) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(product.run("import", "d", name, "--json", code=code).stdout)
    assert report["rows"] == report["added"] + report["present"] + report["dropped"] + report["rejected"]
    return report


def named(product: Product, file: str) -> list[tuple[Any, ...]]:
    lines = [json.loads(line) for line in (product.folder / file).read_bytes().splitlines()]
    return [(one["sample_id"], one["fate"], one["job"], one.get("file"), one.get("line")) for one in lines]


def test_an_answer_is_the_last_turn_and_its_line_is_kept_verbatim(product: Product) -> None:
    write(product, "out.jsonl", row("a", "2+2?", "and 3?", **REASONED), row("b", "2+2?", content="four"))
    report = bring(product, "out.jsonl")
    assert (report["formats"], report["results"]) == ({"specforge": 2}, {"captured_field": 1, "missing": 1})
    assert (report["fates"], report["unanswered"]) == ({}, None)
    shown = json.loads(product.run("sample", "d", "a", "--json").stdout)
    assert [message["content"] for message in shown["messages"]] == ["2+2?", "ok", "and 3?"]
    assert (shown["texts"]["reasoning"], shown["texts"]["content"]) == ("Two and two.", "It is four.")
    assert shown["answers"][0]["reading"]["finish_reason"] == "success"
    first = (product.folder / "out.jsonl").read_bytes().splitlines()[0]
    assert product.run("sample", "d", "a", "--part", "raw", "--raw").stdout == first
    product.check_invariants()
    assert bring(product, "out.jsonl")["present"] == 2
    product.run("export", "--dataset", "d", "--only", "done", "--allow-uncaptured")
    assert (product.folder / "d.jsonl").read_bytes().count(b"\n") == 2


def test_an_answer_after_an_empty_one_answers_no_prompt_that_could_be_asked(product: Product) -> None:
    empty = row("a", "2+2?", "and 3?", **REASONED)
    empty["conversations"][1]["content"] = ""
    write(product, "out.jsonl", empty, row("b", "2+2?", **REASONED))
    report = bring(product, "out.jsonl", code=6)
    assert (report["added"], report["reasons"]) == (1, {"no_answer": 1})


def test_ids_without_one_answer_are_named_one_by_one(product: Product) -> None:
    prompts = [row(name, "2+2?") for name in "abcdefg"]
    for prompt in prompts:
        del prompt["status"]
    write(product, "prompts.jsonl", *prompts)
    bring(product, "prompts.jsonl")
    twice = row("b", "2+2?", content="other", reasoning_content="R")
    write(product, "out.jsonl", row("a", "2+2?", **REASONED), row("b", "2+2?", **REASONED), twice)
    write(product, "out_error.jsonl", failed("c", "error", "Request timed out."), failed("a", "error", "was lost once"))
    odd = {"status": "skipped", "error": "Expected a JSON object", "data": 5}
    write(product, "out_skipped.jsonl", failed("d", "skipped", "marker") | {"conversations": []}, odd)
    report = bring(product, "out.jsonl", code=6)
    assert report["reasons"] == {"duplicate_id": 1}  # b, with both lines in the file of rejects
    assert report["fates"] == {"error": 1, "doubled": 1, "skipped": 2, "lost": 3}
    assert named(product, "out.jsonl.unanswered.jsonl") == [
        ("c", "error", "ready", "out_error.jsonl", 1),
        ("a", "doubled", "done", "out_error.jsonl", 2),
        ("d", "skipped", "ready", "out_skipped.jsonl", 1),
        (None, "skipped", None, "out_skipped.jsonl", 2),
        ("e", "lost", "ready", None, None),
        ("f", "lost", "ready", None, None),
        ("g", "lost", "ready", None, None),
    ]
    text = product.run("import", "d", "out.jsonl", code=6).stdout.decode()
    assert "of the same run, without one answer: doubled 1, error 1, lost 3, skipped 2" in text
    product.check_invariants()
    with Simulator() as simulator:
        product.finish(simulator.url)
        assert simulator.stats()["answers"] == 5  # all that is lost, failed or skipped, once
    assert bring(product, "out.jsonl", code=6)["fates"] == {"doubled": 3, "skipped": 1}


def test_rows_that_failed_are_prompts(product: Product) -> None:
    write(product, "out_error.jsonl", failed("c", "error", "Request timed out."))
    report = bring(product, "out_error.jsonl")
    assert (report["formats"], report["results"], report["fates"]) == ({"sharegpt": 1}, {}, {})
    assert product.rows("SELECT sample_id, state FROM job") == [("c", "ready")]


def test_rows_without_ids_are_told_by_what_they_ask(product: Product) -> None:
    write(product, "out.jsonl", row(None, "2+2?", **REASONED), row(None, "3+3?", **REASONED))
    write(
        product,
        "out_error.jsonl",
        row(None, "2+2?", status="error") | {"error": "x"},
        row(None, "4+4?", status="error"),
    )
    assert bring(product, "out.jsonl")["fates"] == {"doubled": 1, "error": 1}
