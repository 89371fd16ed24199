"""A store with all that an answer can be goes out in full, comes in elsewhere, is read anew, and goes out the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.capture import Form
from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest, Only
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.leasing.datasets import dataset_of
from app.leasing.retry import Retry, Selection, retry, select
from app.model.lease import Cause, Settle
from app.model.verdicts import Verdict
from tests.support.cancelling import cancel
from tests.support.filled import LOST, Filled, chat, filled, thought
from tests.support.product import Product

pytestmark = pytest.mark.anyio

TOOLS = [{"type": "function", "function": {"name": "get", "parameters": {"big": 2**70, "nul": "\x00", "é": "\u2028"}}}]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a": "\ud83d"}'}}]
USAGE = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12, "odd": 1e400}


def body(**more: Any) -> bytes:
    """A body with facts beside its message."""
    said = json.loads(chat("t</think>a"))
    said["choices"][0] |= more.pop("choice", {})
    return json.dumps(said | more).encode()


def stream(*deltas: dict[str, Any]) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


BODIES = (
    thought(1),
    chat("answer", reasoning="field"),
    *LOST.values(),
    chat(None, reasoning="calls", tool_calls=CALLS),
    chat("old", reasoning="r", function_call={"name": "get", "arguments": "{}"}),
    chat("x\u2028 \ud83d</think>\x00\ud800", reasoning=None),
    chat("half \ud83d", reasoning="\x00"),
    b"\xef\xbb\xbf" + thought(2),
    thought(3).replace(b"think 3", b"\xed\xa0\xbd raw half"),
    body(choice={"response_token_ids": [5, 6, 2**32 - 1], "prompt_token_ids": [1, 2]}),
    body(choice={"token_ids": [7]}, prompt_token_ids=[3], metadata={"weight_version": "v2"}),
    body(usage=None),
    body(usage=USAGE),
    json.dumps({"choices": [json.loads(thought(n))["choices"][0] | {"index": n} for n in (1, 0)]}).encode(),
    chat("\n\ncut upstream", counted=900),
    chat("cut off", finish="length"),
)
OFF = (chat("plain"), thought(4), chat("no", finish="length"))
STREAMS = (
    stream({"reasoning_content": "r"}, {"content": "a\ud83d"}, {"content": "\ude42"}),
    stream({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get", "arguments": "{}"}}]}, {"content": "t"}),
)  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def prompts(folder: Path) -> Path:
    """More than there are bodies: with and without tools, with reasoning and calls in their history, with settings."""
    history = [
        {"role": "system", "content": "s"}, {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [
            {"id": "c0", "type": "function", "function": {"name": "get", "arguments": "{}"}}]},
        {"role": "tool", "content": "\x00 result \u2028", "tool_call_id": "c0"},
    ]  # fmt: skip
    plain = [{"id": f"p{n}", "messages": [{"role": "user", "content": f"q{n} <think>"}]} for n in range(20)]
    asked = {"messages": [{"role": "user", "content": "q"}], "temperature": 0.25, "top_p": 1e-7, "seed": 2**53}
    batch = {"custom_id": "with settings", "url": "/v1/chat/completions", "method": "POST", "body": asked}
    tooled = [{"id": f"t/{n}", "messages": history, "tools": TOOLS} for n in range(6)]
    return write(folder / "prompts.jsonl", batch, *tooled, *plain)


def old_runs(folder: Path) -> list[Path]:
    message = [{"role": "user", "content": "old q"}]
    raw = {"messages": message, "reasoning": "", "content": " t</think>\ud83d", "finish_reason": "stop", "usage": USAGE}
    raw |= {"sample_id": "raw"}
    lost = raw | {"sample_id": "raw lost", "content": "none"}
    turns = [*message, {"role": "assistant", "content": "a", "reasoning_content": "r"}]
    specforge = {"id": "sf", "conversations": turns, "status": "success"}
    asked = {"messages": message, "original_row": {"id": "cu"}}
    curator = {"generic_request": asked, "raw_response": json.loads(thought(7))}
    batch = {
        "custom_id": "p19",
        "error": None,
        "response": {"status_code": 200, "request_id": "r", "body": json.loads(thought(8))},
    }
    files = {"raw": (raw, lost), "specforge": (specforge,), "curator": (curator,), "batch": (batch,)}
    return [write(folder / f"{name}.jsonl", *rows) for name, rows in files.items()]


async def fill(at: Filled, folder: Path) -> None:
    """Datasets `d`, `off` and `vl`, with answers of every kind and jobs in every state."""
    await import_file(at.store, ImportRequest("d", str(prompts(folder))), lambda _: None)
    for file in old_runs(folder):
        await import_file(at.store, ImportRequest("d", str(file)), lambda _: None)
    leases = await at.claim(len(BODIES) + len(STREAMS) + 5, "d")
    for lease, one in zip(leases, BODIES, strict=False):
        at.clock.ms += 1_001
        assert await at.answer(lease, one)
    *streamed, gone, failed, waiting, unreadable, _leased = leases[len(BODIES) :]
    for lease, one in zip(streamed, STREAMS, strict=True):
        assert await at.answer(lease, one, form=Form.SSE)
    assert await at.store.write(cancel, gone.job)
    assert not await at.answer(gone, thought(9))  # late
    await at.fail(failed)
    await at.fail(waiting, Cause.TIMED_OUT, Settle.POSTPONE)
    await at.answer(unreadable, b"<html>\xff</html>")
    await ask_again(at)
    off = await at.dataset("off", 3, thinking=False)
    at.thinking[off] = False
    await at.answer_next("off", *OFF)


async def ask_again(at: Filled) -> None:
    """The leaked answer is superseded by a whole one."""
    dataset, selection = (await dataset_of(at.store, "d")).id, Selection(verdicts=(Verdict.LEAKED,))
    assert await retry(at.store, Retry(dataset, selection, 99), await select(at.store, dataset, selection)) == 1
    lease = next(one for one in await at.claim(30, "d") if one.attempt == 2)
    assert await at.answer(lease, thought(10))


def token_ids(product: Product) -> list[tuple[Any, ...]]:
    return product.rows("""SELECT sample_id, hex(prompt), hex(answer) FROM token_ids
        JOIN response ON response.id = response_id JOIN job ON job.id = job_id ORDER BY sample_id""")


async def test_a_store_with_everything_comes_back_the_same(tmp_path: Path) -> None:
    first, second = Product(tmp_path / "first"), Product(tmp_path / "second")
    for product in (first, second):
        product.folder.mkdir()
    async with filled(first.db) as at:
        await fill(at, first.folder)
        for name in ("d", "off"):
            target = first.folder / f"{name}.full.jsonl"
            request = ExportRequest(name, target, only=Only.DONE, allow_uncaptured=True, preset=Preset.FULL)
            await export_dataset(at.store, request)
    verdicts = {verdict for (verdict,) in first.rows("SELECT DISTINCT verdict FROM job WHERE state = 'done'")}
    assert verdicts == {str(verdict) for verdict in Verdict if verdict is not Verdict.MALFORMED}
    assert first.rows("SELECT DISTINCT state FROM job ORDER BY 1") == [
        ("cancelled",), ("done",), ("failed",), ("leased",), ("waiting",),
    ]  # fmt: skip
    for name in ("d", "off"):
        second.run("import", name, str(first.folder / f"{name}.full.jsonl"))
    second.run("reparse", "--all", "--apply")
    for name in ("d", "off"):
        out = second.folder / f"{name}.full.jsonl"
        asked = ("--preset", "full", "--only", "done", "--allow-uncaptured")
        second.run("export", "--dataset", name, "-o", str(out), *asked)
        assert out.read_bytes() == (first.folder / out.name).read_bytes()
    assert token_ids(second) == token_ids(first) != []
    for product in (first, second):
        product.run("verify", "--full")
