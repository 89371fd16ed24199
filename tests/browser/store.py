"""A store with something of everything: for the pages that are looked at, and for screenshots."""

import json
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
from sqlalchemy import text

from app.leasing.holds import HoldKind, HoldRequest, hold
from app.leasing.workers import renew
from app.model.verdicts import Verdict
from app.store.store import wall_ms
from app.store.transaction import Tx
from tests.support.filled import LOST, Filled, chat, filled, thought

HOSTILE = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "javascript:window.hit=1",
    "{{ 7*7 }}${7*7}<%= 7*7 %>",
    "</pre></textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
    "' onmouseover='window.hit=1",
)
LONG = "step by step, " * 20_000


def apart(work: Callable[..., Awaitable[None]], *arguments: object) -> None:
    """Run it in a thread of its own: the browser's driver keeps an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, work, *arguments).result()


def hostile(folder: Path) -> None:
    """Every text of a store is an attack: prompts, ids, answers, errors, worker, server and model names."""

    async def make() -> None:
        async with filled(folder / "t.db") as at:
            await at.dataset("attack", len(HOSTILE), prompts=HOSTILE)
            await at.store.write(_rename, None)
            leases = await at.claim(len(HOSTILE), "attack")
            for lease, attack in zip(leases[:5], HOSTILE, strict=False):
                await at.answer(lease, chat(f"{attack}</think>{attack}", finish=attack))
            await at.fail(leases[5])
            dataset = leases[0].dataset
            await at.store.write(hold, HoldRequest(dataset, HoldKind.GATE, HOSTILE[0]))

    apart(make)


async def _rename(tx: Tx, items: Sequence[None]) -> list[None]:
    """Ids and names as no door takes them: whatever stands in a store is shown safely."""
    for number, attack in enumerate(HOSTILE, 1):
        for table in ("sample", "job"):
            await tx.run(
                text(f"UPDATE {table} SET sample_id = :attack WHERE id = :number"), {"attack": attack, "number": number}
            )
    await tx.run(text("UPDATE worker SET name = :name, host = :host"), {"name": HOSTILE[0], "host": HOSTILE[1]})
    await tx.run(text("UPDATE endpoint SET model = :model"), {"model": HOSTILE[2]})
    return [None] * len(items)


def everything(folder: Path) -> None:
    """Datasets that are done, running, held and empty; lost and truncated answers; failures; alarms."""
    apart(_everything, folder)


async def _everything(folder: Path) -> None:
    async with filled(folder / "t.db") as at:
        at.watched = True
        at.clock.ms = wall_ms() - 38 * 47_000
        await at.dataset("B1_glaive", 60)
        await _answers(at, "B1_glaive", 38)
        await at.dataset("UltraChat", 40)
        await at.answer_next("UltraChat", *[LOST[Verdict.MISSING]] * 2)
        await at.dataset("ShareGPT", 12)
        await at.store.write(renew, at.worker)


async def _answers(at: Filled, name: str, count: int) -> None:
    for number in range(count):
        at.clock.ms += 47_000
        if number == 20:
            await at.answer_next(name, LOST[Verdict.TRUNCATED])
        elif number == 30:
            (lease,) = await at.claim(1, name)
            await at.fail(lease)
        elif number == 31:
            await at.answer_next(name, thought_of(LONG))
        else:
            await at.answer_next(name, thought(number))


def thought_of(text: str) -> bytes:
    """An answer with that reasoning."""
    return chat(f"{text}</think>answer")


def prompts_file(folder: Path, count: int) -> Path:
    """Prompts for the main job."""
    path = folder / "prompts.jsonl"
    lines = [json.dumps({"sample_id": f"p{number}", "prompt": f"question {number}"}) for number in range(count)]
    path.write_text("\n".join(lines) + "\n")
    return path
