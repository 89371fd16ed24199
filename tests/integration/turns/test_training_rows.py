"""Presets `tokens` and `text`, and tables, of conversations answered by the simulator: a row a generation."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.integration.test_export_training import TEMPLATE, TEXT
from tests.support.product import Product
from tests.support.simulator import Simulator
from worker.simulator import tokens

IDS = ["c0@0", "c0@1", "c0@2", "c1@0", "c1@1"]


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """A store with conversations of three turns and of two."""
    made = Product(tmp_path)
    with (tmp_path / "talks.jsonl").open("w") as out:
        for number, turns in enumerate((3, 2)):
            said = [{"from": who, "value": f"{who} {turn} é🙂"} for turn in range(turns) for who in ("human", "gpt")]
            out.write(json.dumps({"id": f"c{number}", "conversations": said}) + "\n")
    (tmp_path / "kimi.jinja").write_text(TEMPLATE)
    made.run("import", "d", "talks.jsonl", "--turns", "all")
    return made


def answer(product: Product, *first: str) -> None:
    """Answer all conversations, the first of them by a worker with these options."""
    with Simulator() as simulator:
        product.finish(simulator.url, "--limit", "1", "--concurrency", "1", *first)
        product.finish(simulator.url)


def rows(product: Product, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (product.folder / name).read_bytes().splitlines()]


def test_the_ids_of_each_turn_are_its_text(product: Product) -> None:
    answer(product)
    said = product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens").stderr.decode()
    assert "at most 2 jobs, a row a turn, about " in said
    product.run("export", "--dataset", "d", "-o", "text.jsonl", *TEXT)
    ids, texts = rows(product, "tokens.jsonl"), rows(product, "text.jsonl")
    assert [row["id"] for row in ids] == [row["id"] for row in texts] == IDS
    assert [row["primary_id"] for row in ids] == [name.partition("@")[0] for name in IDS]
    for row, text in zip(ids, texts, strict=True):
        assert tokens.decode(row["input_ids"]) == text["text"]
    earlier = texts[1]["text"].partition("</think>")[0]
    answers = dict(product.rows("SELECT turn, content FROM answer WHERE sample_id = 'c0'"))
    assert f"<|im_assistant|>assistant<|im_middle|>{answers[0]}<|im_end|>" in earlier
    for name in ("tokens.jsonl", "text.jsonl"):
        product.run("export", "--check", name)


def test_turns_without_ids_leave_out_their_conversation_and_it_adds_up(product: Product) -> None:
    answer(product, "--token-ids", "off")
    done = product.run("export", "--dataset", "d", "-o", "tokens.jsonl", "--preset", "tokens", "--json", code=6)
    assert json.loads(done.stdout)["left_out"] == {"no_token_ids": 1}
    manifest = json.loads((product.folder / "tokens.jsonl.manifest.json").read_text())
    assert (manifest["jobs"], manifest["jobs_exported"]) == (2, 1)
    (left,) = manifest["left_out_ids"]["ids"]
    assert left["reason"] == "no_token_ids"
    assert {row["primary_id"] for row in rows(product, "tokens.jsonl")} == {"c0", "c1"} - {left["sample_id"]}


@pytest.mark.parametrize("preset", ["full", "messages", "specforge", "tokens"])
def test_tables_and_shards_hold_the_rows_of_the_lines(product: Product, preset: str) -> None:
    answer(product)
    asked = ("export", "--dataset", "d", "--preset", preset)
    product.run(*asked, "-o", "lines.jsonl")
    product.run(*asked, "-o", "table.parquet")
    product.run(*asked, "-o", "parts.jsonl", "--shard-size", "2")
    lines = rows(product, "lines.jsonl")
    table = pq.read_table(product.folder / "table.parquet").to_pylist()
    key = "sample_id" if preset == "full" else "id"
    assert [row[key] for row in table] == [row[key] for row in lines]
    shards = sorted(product.folder.glob("parts-*-of-*.jsonl"))
    assert b"".join(shard.read_bytes() for shard in shards) == (product.folder / "lines.jsonl").read_bytes()
    assert [len(shard.read_bytes().splitlines()) for shard in shards] == ([2] if len(lines) == 2 else [2, 2, 1])
    if preset == "full":
        assert [json.loads(row["script"]) for row in table] == [row["script"] for row in lines]
        assert [json.loads(row["turns"]) for row in table] == [row["turns"] for row in lines]
    for name in ("table.parquet", "parts.jsonl"):
        product.run("export", "--check", name)
