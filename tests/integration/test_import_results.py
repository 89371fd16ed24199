"""Rows of an old run come in as answers: each is accounted for, and what is wrong with one is said of that one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.kinds import kind
from tests.support.product import Product
from tests.support.simulator import Simulator

CONTENT = " thought</think>answer"


def row(sample_id: str, content: str | None = CONTENT, *, asked: str | None = None, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": asked or f"what is {sample_id}?"}]
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    facts = {"sample_id": sample_id, "messages": messages, "reasoning": "", "content": content}
    return facts | {"finish_reason": "stop", "usage": usage} | more


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


def bring(product: Product, *rows: dict[str, Any] | bytes, code: int = 0, name: str = "old.jsonl") -> dict[str, Any]:
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows]
    (product.folder / name).write_bytes(b"\n".join(lines))
    report: dict[str, Any] = json.loads(product.run("import", "d", name, "--json", code=code).stdout)
    assert report["rows"] == report["added"] + report["present"] + report["dropped"] + report["rejected"]
    return report


def listed(product: Product, ending: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (product.folder / f"old.jsonl.{ending}.jsonl").read_bytes().splitlines()]


def test_what_is_wrong_is_said_of_each_row(product: Product) -> None:
    torn = json.dumps(row("torn")).encode()[:-20]
    report = bring(
        product,
        row("a"),
        row("a", " other</think>answer"),  # 2: the same id again
        row("a"),  # 3: the same row again
        row("a", asked="something else"),  # 4: the same id for another question
        row("b", "nothing of a thought"),  # 5: lost for good
        row("c", finish_reason=None),  # 6: never came to its end
        row("f", "half a", finish_reason="abort"),  # 7
        row("f"),  # 8: and was asked again
        row("g", "<think>", finish_reason="length"),  # 9
        torn,  # 10
        code=6,
    )
    assert (report["added"], report["present"], report["rejected"]) == (5, 1, 4)
    assert report["results"] == {"split_from_content": 2, "missing": 1, "malformed": 2, "truncated": 1}
    found = [(reject["line"], reject["reason"]) for reject in listed(product, "rejects")]
    assert found == [(2, "duplicate_id"), (3, "duplicate_id"), (4, "conflicting_id"), (10, "not_json")]
    lost = [(one["line"], one["sample_id"], one["verdict"], one["job"]) for one in listed(product, "uncaptured")]
    assert lost == [
        (5, "b", "missing", "done"), (6, "c", "malformed", "ready"), (7, "f", "malformed", "ready"),
        (9, "g", "truncated", "done"),
    ]  # fmt: skip
    states = "SELECT sample_id, state, verdict, imported, tries FROM job ORDER BY ordinal"
    assert product.rows(states) == [
        ("a", "done", "split_from_content", 1, 0), ("b", "done", "missing", 1, 0), ("c", "ready", None, 0, 0),
        ("f", "done", "split_from_content", 1, 0), ("g", "done", "truncated", 1, 0),
    ]  # fmt: skip
    product.check_invariants()
    with Simulator() as simulator:
        product.finish(simulator.url)
        assert simulator.stats()["answers"] == 1  # c
    product.check_invariants()


def kept(product: Product) -> tuple[object, ...]:
    """What a store says; on a server, whose number counts whatever is begun there, without that."""
    seq = product.value("SELECT seq FROM meta") if kind() == "sqlite" else None
    return product.rows("SELECT * FROM job ORDER BY id"), product.rows("SELECT id FROM response ORDER BY id"), seq


def test_the_same_file_again_changes_nothing(product: Product) -> None:
    aborted = row("f", "half", finish_reason="abort")
    rows = [row("a"), row("b", "no thought"), row("c", finish_reason=None), aborted, row("f", "x", finish_reason=None)]
    rows.append(row("f"))  # asked again until it was answered
    assert bring(product, *rows, code=6)["present"] == 2
    before = kept(product)
    report = bring(product, *rows)
    assert (report["added"], report["present"], report["rejected"], report["results"]) == (0, 6, 0, {})
    after = kept(product)
    assert after == before
    report = bring(product, *rows, aborted, row("f"), code=6)
    assert (report["present"], report["reasons"]) == (6, {"duplicate_id": 2})


def test_results_fill_the_jobs_of_prompts_that_are_there_already(product: Product) -> None:
    prompts = [{key: row(name)[key] for key in ("sample_id", "messages")} for name in "abc"]
    (product.folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, prompts)))
    product.run("import", "d", "prompts.jsonl")
    report = bring(product, row("a"), row("b", finish_reason=None), row("new"), code=6)
    assert (report["added"], report["present"], report["results"]) == (1, 2, {"split_from_content": 2, "malformed": 1})
    states = "SELECT sample_id, state FROM job ORDER BY ordinal"
    assert product.rows(states) == [("a", "done"), ("b", "ready"), ("c", "ready"), ("new", "done")]
    report = bring(product, row("a", " another</think>one"), name="other.jsonl", code=6)
    assert report["reasons"] == {"answered": 1}
    product.check_invariants()


def test_a_prompt_and_its_result_in_one_file_are_the_same_again(product: Product) -> None:
    prompt = {key: row("a")[key] for key in ("sample_id", "messages")}
    assert bring(product, prompt, row("a"))["present"] == 1
    assert bring(product, prompt, row("a"))["present"] == 2


def test_thinking_that_was_off_is_said_with_the_dataset(product: Product) -> None:
    (product.folder / "old.jsonl").write_text(json.dumps(row("a", "plain answer")))
    product.run("import", "d", "old.jsonl", "--thinking", "off")
    assert product.rows("SELECT verdict, expected FROM job") == [("none_expected", 0)]


def test_a_named_format_takes_rows_that_nothing_else_tells(product: Product) -> None:
    bare = row("a")
    del bare["finish_reason"], bare["usage"]
    (product.folder / "old.jsonl").write_text(json.dumps(bare))
    product.run("import", "d", "old.jsonl", "--format", "raw_responses", code=6)
    assert product.rows("SELECT state, attempt FROM job") == [("ready", 1)]


def test_a_dry_run_counts_a_second_result_as_what_it_is(product: Product) -> None:
    (product.folder / "old.jsonl").write_text(json.dumps(row("a")) + "\n" + json.dumps(row("a", "x")))
    done = product.run("import", "d", "old.jsonl", "--dry-run", "--jsonl", code=6)
    assert [json.loads(line)["dropped"] for line in done.stdout.splitlines()] == [None, "duplicate_id"]
    assert not product.db.exists()


def test_an_export_of_ours_comes_in_again_as_it_went_out(product: Product, tmp_path: Path) -> None:
    bring(product, *(row(f"s{number}", f" t{number}</think>a{number}") for number in range(5)))
    first = product.export("d", "first.jsonl")
    (tmp_path / "other").mkdir()
    other = Product(tmp_path / "other")
    other.run("import", "d", str(product.folder / "first.jsonl"))
    assert other.rows("SELECT DISTINCT verdict FROM job") == [("captured_field",)]
    assert other.export("d", "second.jsonl") == first


def test_an_old_answer_without_its_tools_goes_to_the_prompt_that_has_them(product: Product) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    prompt = {"sample_id": "a", "messages": row("a")["messages"], "tools": tools}
    (product.folder / "prompts.jsonl").write_text(json.dumps(prompt))
    product.run("import", "d", "prompts.jsonl")
    assert bring(product, row("a"))["results"] == {"split_from_content": 1}
    assert product.rows("SELECT state FROM job") == [("done",)]
