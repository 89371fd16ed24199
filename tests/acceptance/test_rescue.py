"""The bug that this project exists for: 2,900 answers of an old run whose thoughts lie in `content`, unnoticed."""

import json
from pathlib import Path
from typing import Any

from tests.support.product import Product
from tests.support.simulator import Simulator

ROWS = 2900
MORE = 40  # prompts that the old run never came to
ENDINGS = ("\n\nThe answer is {n}.", "{n}", "\n\n```python\nprint('</think>')\n```\n", " é漢\u2028 {n}\n")


def prompt(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Question number {number}?"}]


def row(number: int) -> dict[str, Any]:
    """What the old script wrote: `reasoning` is the empty string, and content begins inside the thought."""
    thought = f" The user asks {number}.\nI should think about it {'again and ' * (number % 7)}again. "
    return {
        "sample_id": f"glaive-{number:05}",
        "messages": prompt(number),
        "reasoning": "",
        "content": thought + "</think>" + ENDINGS[number % len(ENDINGS)].format(n=number),
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 12, "completion_tokens": 90 + number % 50, "total_tokens": 102 + number % 50},
    }


def write(path: Path, rows: list[dict[str, Any]]) -> bytes:
    data = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in rows)
    path.write_bytes(data)
    return data


def test_the_lost_answers_are_rescued_without_asking_anything_again(product: Product) -> None:
    old = [row(number) for number in range(ROWS)]
    data = write(product.folder / "raw_responses.jsonl", old)
    shown = product.run("import", "B1_glaive", "raw_responses.jsonl", "--format", "raw_responses").stdout.decode()
    assert shown.startswith("B1_glaive: 2,900 rows, 2,900 added, 0 there already, 0 dropped, 0 rejected\n")
    assert "results: split_from_content 2,900\n" in shown
    product.check_invariants()
    check_stored(product, data)

    with Simulator() as simulator:
        product.finish(simulator.url)
        assert simulator.stats()["requests"] == 0
    exported = [json.loads(line) for line in product.export("B1_glaive", "out.jsonl").split(b"\n")[:-1]]
    assert len(exported) == ROWS
    for before, after in zip(old, exported, strict=True):
        assert after["reasoning"].startswith(" The user asks")
        assert after["reasoning"] + "</think>" + after["content"] == before["content"]
        same = ("sample_id", "messages", "finish_reason", "usage")
        assert [after[key] for key in same] == [before[key] for key in same]

    progress = json.loads(product.run("status", "--json").stdout)["data"]["datasets"][0]
    assert (progress["capture"]["part"], progress["capture"]["whole"]) == (ROWS, ROWS)
    assert product.rows("SELECT * FROM bucket WHERE done <> 0 OR tokens <> 0") == []  # no rate, and so no ETA, by them

    check_prompts_file(product)


def check_stored(product: Product, data: bytes) -> None:
    """Every row is the raw body of an accepted response, byte for byte, and says that nobody asked for it."""
    from app.store.codec import unpack

    kept = product.rows(
        "SELECT codec, raw FROM body JOIN response ON response.id = response_id JOIN job ON job.id = job_id"
        " ORDER BY ordinal"
    )
    assert b"".join(unpack(codec, raw) + b"\n" for codec, raw in kept) == data
    facts = "SELECT DISTINCT form, http_status, worker_id, endpoint_id, accepted_seq > 0, superseded_seq FROM response"
    assert product.rows(facts) == [("raw_responses", None, None, None, 1, None)]


def check_prompts_file(product: Product) -> None:
    """The prompts of the old run into the same dataset: only those without an answer are asked."""
    prompts = [{"sample_id": f"glaive-{number:05}", "messages": prompt(number)} for number in range(ROWS + MORE)]
    write(product.folder / "prompts.jsonl", prompts)
    shown = product.run("import", "B1_glaive", "prompts.jsonl").stdout.decode()
    assert shown.startswith(f"B1_glaive: 2,940 rows, {MORE} added, 2,900 there already, 0 dropped, 0 rejected\n")
    with Simulator() as simulator:
        product.finish(simulator.url)
        assert simulator.stats()["answers"] == MORE
    product.check_invariants()
    assert product.value("SELECT sum(done) FROM bucket") == MORE
    assert len(product.export("B1_glaive", "all.jsonl").splitlines()) == ROWS + MORE
