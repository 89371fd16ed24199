"""A store with something of everything: for the pages that are looked at, and for screenshots."""

import json
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
from sqlalchemy import text

from app.gates.evaluating import Look, evaluate
from app.gates.health import Found, note_health
from app.gates.soundness import Verified, note_verified
from app.leasing.holds import HoldKind, HoldRequest, hold
from app.leasing.workers import renew
from app.model.lease import Cause
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


LONG_NAME = "A_dataset.with-the-longest-name-that-there-may-be." + "x" * 49 + "z"  # a hundred characters
SCRIPTS = (
    "\u65e5\u672c\u8a9e\u306e\u8cea\u554f\u3067\u3059\u3002" * 40,
    "\u0627\u0643\u062a\u0628 \u0628\u0631\u0646\u0627\u0645\u062c\u0627 " * 40,
    "\u0939\u093f\u0928\u094d\u0926\u0940 " * 60 + "\U0001f9ee" * 30,
    "w" * 3000,
)


def troubled(folder: Path) -> None:
    """A dataset with the longest name, texts of all scripts, and every alarm that time triggers."""
    apart(_troubled, folder)


async def _troubled(folder: Path) -> None:
    async with filled(folder / "t.db") as at:
        at.watched = True
        at.clock.ms = wall_ms() - 40 * 3_600_000
        await at.dataset(LONG_NAME, 160, prompts=SCRIPTS)
        await at.answer_next(LONG_NAME, *[chat(f"{text}</think>{text}") for text in SCRIPTS], *map(thought, range(110)))
        at.clock.ms = wall_ms() - 20 * 60_000
        for cause in (Cause.REJECTED, Cause.TIMED_OUT, Cause.SERVER_ERROR):
            (lease,) = await at.claim(1, LONG_NAME)
            await at.fail(lease, cause)
        await at.answer_next(LONG_NAME, LOST[Verdict.LEAKED], LOST[Verdict.TRUNCATED])
        await at.claim(3, LONG_NAME)
        dataset = await at.dataset("held", 30)
        await at.answer_next("held", *[LOST[Verdict.MISSING]] * 2)
        await at.store.write(hold, HoldRequest(dataset, HoldKind.PERSON, "\u4e00" * 120 + " " + "w" * 200))
        await at.store.write(_spoil, None)
        await at.store.write(
            note_health, Found(at.worker, f"http://{'gpu-' * 30}.example:30000/v1", "it refuses " * 20)
        )
        at.clock.ms = wall_ms() - 2_000
        await at.store.write(renew, at.worker)
        await at.store.write(note_verified, Verified(12_345, full=True, seq=1))
        await at.store.write(evaluate, Look("worker 1", (2**29, 2**40)))


async def _spoil(tx: Tx, items: Sequence[None]) -> list[None]:
    """Long names of a worker, a sample and a model, and counters that do not add up."""
    await tx.run(text("UPDATE worker SET name = :name, host = :host"), {"name": "gpu-" * 30, "host": "h" * 120})
    await tx.run(text("UPDATE endpoint SET model = :model"), {"model": "moonshotai/" + "Kimi-K2.5-" * 20})
    for table in ("sample", "job"):
        await tx.run(text(f"UPDATE {table} SET sample_id = :name WHERE id = 2"), {"name": "\u8cea\u554f-" + "y" * 200})
    await tx.run(text("UPDATE counter SET n = n + 1 WHERE metric = 'state:done' AND dataset_id = 2"))
    return [None] * len(items)
