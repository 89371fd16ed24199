"""Presets `tokens` and `text` of a run against the simulator, whose ids say exactly which text they stand for."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.support.product import Product
from tests.support.simulator import Simulator
from tests.unit.export import readers
from worker.simulator import tokens

# The simulator's own template, in its own words: `worker.simulator.request.Request.rendered`.
TEMPLATE = """{% set says = {'user': 'user', 'assistant': 'assistant'} %}
{% for m in messages %}
<|im_{{ says.get(m.role, 'system') }}|>{{ m.role }}<|im_middle|>{{ m.content }}<|im_end|>
{% endfor %}
<|im_assistant|>assistant<|im_middle|><think>{% if thinking is defined and not thinking %}</think>{% endif %}"""
TEXT = ("--preset", "text", "--template", "kimi.jinja", "--end-token", "<|im_end|>")
HEADER = "<|im_assistant|>assistant<|im_middle|>"


@pytest.fixture
def product(tmp_path: Path) -> Product:
    made = Product(tmp_path)
    made.import_prompts("d", (f"question {number} é中🙂" for number in range(12)))
    (tmp_path / "kimi.jinja").write_text(TEMPLATE)
    return made


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def manifest(product: Product, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((product.folder / f"{name}.manifest.json").read_text())
    return found


def test_the_ids_are_the_text_and_both_are_what_the_model_saw_and_wrote(product: Product) -> None:
    with Simulator() as simulator:
        product.finish(simulator.url)
    product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens")
    product.run("export", "--dataset", "d", "-o", "text.jsonl", *TEXT)
    ids, texts = rows(product.folder / "tokens.jsonl"), rows(product.folder / "text.jsonl")
    assert len(ids) == len(texts) == 12
    for row, text in zip(ids, texts, strict=True):
        boundary = row["loss_mask"].index(1)
        assert row["id"] == row["primary_id"] == text["id"]
        assert tokens.decode(row["input_ids"]) == text["text"]
        assert tokens.decode(row["input_ids"][:boundary]).endswith("<|im_middle|><think>")
        assert 0 not in row["loss_mask"][boundary:]
    for name in ("tokens.jsonl", "text.jsonl"):
        product.run("export", "--check", name)


def test_both_trainers_read_the_same_file_of_tokens(product: Product) -> None:
    with Simulator() as simulator:
        product.finish(simulator.url)
    product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens")
    file = product.folder / "tokens.jsonl"
    said = [(row["input_ids"], row["loss_mask"]) for row in rows(file)]
    assert readers.speculators(file, max_length=10**6) == readers.specforge(file, max_length=10**6) == said
    assert readers.resumed_ids(file) == {f"s{number}" for number in range(12)}
    shortest = min(mask.index(1) for _, mask in said)
    assert readers.specforge(file, max_length=shortest) == []  # a prompt as long as the window trains nothing
    text = product.folder / "text.jsonl"
    product.run("export", "--dataset", "d", "-o", "text.jsonl", *TEXT)
    for (_, trained), row in zip(readers.specforge_preformatted(text, HEADER, "<|im_end|>"), rows(file), strict=True):
        assert trained == row["text"] + "<|im_end|>"


def test_answers_without_ids_are_left_out_by_id_and_it_adds_up(product: Product) -> None:
    with Simulator() as simulator:
        product.finish(simulator.url, "--limit", "5", "--token-ids", "off")
        product.finish(simulator.url)
    done = product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens", "--json", code=6)
    said = manifest(product, "tokens.jsonl")
    assert said["left_out"] == {"no_token_ids": 5} == json.loads(done.stdout)["left_out"]
    assert said["rows"] + 5 == said["jobs"] == 12
    left = {one["sample_id"] for one in said["left_out_ids"]["ids"]}
    assert len(left) == 5
    assert left | {row["id"] for row in rows(product.folder / "tokens.jsonl")} == {f"s{n}" for n in range(12)}
    assert b"5 no_token_ids" in done.stderr
    product.run("export", "--dataset", "d", "-o", "again", "--preset", "tokens", "--allow-incomplete")


def test_tokens_are_a_table_too(product: Product) -> None:
    with Simulator() as simulator:
        product.finish(simulator.url)
    product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens")
    product.run("export", "--dataset", "d", "-o", "tokens.parquet", "--preset", "tokens")
    table = pq.read_table(product.folder / "tokens.parquet").to_pylist()
    assert [{**row, "metadata": json.loads(row["metadata"])} for row in table] == rows(product.folder / "tokens.jsonl")


def test_what_was_asked_without_thinking_is_text_without_a_thought(product: Product) -> None:
    product.run("import", "off", str(product.folder / "d.prompts.jsonl"), "--thinking", "off")
    with Simulator() as simulator:
        product.finish(simulator.url, "--dataset", "off")
    product.run("export", "--dataset", "off", "-o", "off.jsonl", *TEXT)
    product.run("export", "--dataset", "off", "-o", "ids.jsonl", "--preset", "tokens")
    texts = [row["text"] for row in rows(product.folder / "off.jsonl")]
    assert all("<|im_middle|><think></think>" in text for text in texts)
    assert texts == [tokens.decode(row["input_ids"]) for row in rows(product.folder / "ids.jsonl")]


def test_the_template_stands_in_the_manifest_and_another_one_does_not_go_on(product: Product) -> None:
    with Simulator() as simulator:
        product.finish(simulator.url)
    product.run("export", "--dataset", "d", "-o", "text.jsonl", *TEXT)
    said = manifest(product, "text.jsonl")["template"]
    assert (said["name"], said["text"], said["end_token"]) == ("kimi.jinja", TEMPLATE, "<|im_end|>")
    (product.folder / "kimi.jinja").unlink()
    product.run("export", "--check", "text.jsonl")


def test_options_of_a_template_are_asked_for_and_refused_elsewhere(product: Product) -> None:
    for arguments, words in (
        (("--preset", "text"), b"--end-token TEXT"),
        (("--preset", "text", "--template", "kimi.jinja"), b"--end-token TEXT"),
        (("--preset", "messages", "--template", "kimi.jinja"), b"for --preset text alone"),
        (("--preset", "text", "--template", "bos.jinja", "--end-token", ""), b"bos_token"),
        (("--preset", "text", "--template", "bad.jinja", "--end-token", ""), b"bad.jinja line 1"),
    ):
        (product.folder / "bos.jinja").write_text("{{ bos_token }}")
        (product.folder / "bad.jinja").write_text("{% if %}")
        done = product.run("export", "--dataset", "d", "-o", "x", *arguments, code=2)
        assert words in done.stderr
    assert not (product.folder / "x").exists()
