"""What went out in full comes in again as it was; and runs of other tools come in from their own files."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest, Only
from tests.support.filled import LOST, chat, filled, thought
from tests.support.product import Product
from tests.support.simulator import Simulator

pytestmark = pytest.mark.anyio

BODY = {
    "id": "x", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": " t</think>\n\nc"}}],
}  # fmt: skip
PROMPT = [{"role": "user", "content": "q"}]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


def _write(product: Product, name: str, *rows: dict[str, Any]) -> None:
    (product.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _report(product: Product, name: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(product.run("import", "d", name, "--json", code=code).stdout)
    assert found["rows"] == found["added"] + found["present"] + found["dropped"] + found["rejected"]
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def test_full_export_import_reparse_export_is_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "full.jsonl", tmp_path / "again.jsonl"
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 8)
        await at.answer_next("d", thought(1), chat("x\u2028 \ud83d", reasoning="\x00"), *LOST.values())
        request = ExportRequest("d", first, only=Only.DONE, allow_uncaptured=True, preset=Preset.FULL)
        await export_dataset(at.store, request)
    (tmp_path / "other").mkdir()
    product = Product(tmp_path / "other")
    report = json.loads(product.run("import", "d", str(first), "--json").stdout)
    assert report["added"] == len(_lines(first)) == 2 + len(LOST)
    product.run("reparse", "d", "--apply")
    product.run(
        "export", "--dataset", "d", "-o", str(second), "--preset", "full", "--only", "done", "--allow-uncaptured"
    )
    assert second.read_bytes() == first.read_bytes()


def test_curators_responses_come_in_from_their_raw_part(product: Product) -> None:
    asked = {"model": "m", "messages": PROMPT, "original_row": {"id": "a", "q": "q"}, "original_row_idx": 0}
    good = {"response_message": "\n\nc", "response_errors": None, "raw_response": BODY, "generic_request": asked}
    other = asked | {"original_row": {"id": "b"}}
    bad = {"response_errors": ["time-out"], "raw_response": None, "generic_request": other}
    _write(product, "responses_0.jsonl", good, bad)
    report = _report(product, "responses_0.jsonl", code=6)
    assert report["formats"] == {"curator": 1}
    assert report["results"] == {"split_from_content": 1}
    assert report["reasons"] == {"no_answer": 1}
    product.run("export", "--dataset", "d", "-o", "d.jsonl")
    (row,) = _lines(product.folder / "d.jsonl")
    assert (row["sample_id"], row["reasoning"], row["content"]) == ("a", " t", "\n\nc")


def test_batch_results_find_the_prompts_of_their_requests(product: Product) -> None:
    request = {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": PROMPT}}
    _write(product, "batch.jsonl", request)
    _report(product, "batch.jsonl")
    result = {"id": "b1", "custom_id": "r1", "error": None, "response": {"status_code": 200, "body": BODY}}
    failed = {"id": "b2", "custom_id": "r1", "error": {"code": "x"}, "response": None}
    _write(product, "out.jsonl", result, failed, result | {"custom_id": "r2"})
    report = _report(product, "out.jsonl", code=6)
    assert report["results"] == {"split_from_content": 1}
    assert report["reasons"] == {"no_answer": 1, "no_prompt": 1}
    product.run("export", "--dataset", "d", "-o", "d.jsonl")
    (row,) = _lines(product.folder / "d.jsonl")
    assert (row["messages"], row["reasoning"]) == (PROMPT, " t")


@pytest.mark.parametrize("preset", [one for one in Preset if one not in (Preset.TOKENS, Preset.TEXT)])
def test_the_command_writes_every_preset_and_checks_it(product: Product, preset: str) -> None:
    _write(product, "full.jsonl", *({"sample_id": f"s{n}", "messages": PROMPT, "content": " t</think>c",
                                     "finish_reason": "stop", "usage": None} for n in range(3)))  # fmt: skip
    _report(product, "full.jsonl")
    product.run("export", "--dataset", "d", "-o", "d.jsonl", "--preset", preset)
    assert len(_lines(product.folder / "d.jsonl")) == 3
    product.run("export", "--check", "d.jsonl")
    (product.folder / "d.jsonl").write_bytes((product.folder / "d.jsonl").read_bytes() + b"\n")
    product.run("export", "--check", "d.jsonl", code=8)


def test_the_settings_of_a_batch_request_are_sent_with_it_alone(product: Product) -> None:
    body = {"model": "gpt-x", "messages": PROMPT, "max_completion_tokens": 7000, "temperature": 0.25, "stream": True}
    request = {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    _write(product, "batch.jsonl", request, {"prompt": "other", "id": "p"})
    _report(product, "batch.jsonl")
    with Simulator() as server:
        product.finish(server.url)
    product.run("export", "--dataset", "d", "-o", "d.jsonl", "--preset", "full")
    sent = {row["sample_id"]: row["response"]["request"] for row in _lines(product.folder / "d.jsonl")}
    assert (sent["r1"]["temperature"], sent["r1"]["max_completion_tokens"]) == (0.25, 7000)
    assert sent["r1"]["model"] != "gpt-x"
    assert "stream" not in sent["r1"]
    assert "max_completion_tokens" not in sent["p"]
    changed = request | {"body": body | {"temperature": 0.5}}
    _write(product, "later.jsonl", changed)
    assert _report(product, "later.jsonl", code=6)["reasons"] == {"conflicting_id": 1}
