"""Every section of the runbook, tried: its commands in the situation that it is for."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from tests.integration.store import raw
from tests.integration.store.raw import connection
from tests.integration.test_reparse import answer, old_bug
from tests.support.documents import (
    RUNBOOK,
    SERVER,
    Command,
    Happens,
    Log,
    Step,
    alike,
    programs,
    run,
    sections,
    steps,
)  # fmt: skip
from tests.support.filled import filled, thought
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.simulator import Simulator

SECTIONS = {title: steps(RUNBOOK, title) for title in sections(RUNBOOK)}
Scene = Callable[["Room"], None]


@dataclass
class Room:
    """A store, a server, and what runs beside them."""

    product: Product
    simulator: Simulator
    stack: ExitStack
    worker: RunningWorker | None = None
    happens: dict[str, Callable[[], None]] = field(default_factory=dict)

    def prompts(self, count: int) -> None:
        self.product.import_prompts("B1_glaive", [f"question {number}" for number in range(count)])

    def work(self, *arguments: str) -> RunningWorker:
        self.worker = self.stack.enter_context(self.product.worker(self.simulator.url, *arguments))
        return self.worker

    def done(self, count: int) -> None:
        wait_for(lambda: self.product.peek("SELECT count(*) FROM job WHERE state = 'done'") == [(count,)], "done")


def capture_alarm(room: Room) -> None:
    room.prompts(40)
    room.simulator.play("no_thought")
    room.product.finish(room.simulator.url, "--concurrency", "4", code=7)
    room.happens["the server is mended"] = lambda: room.simulator.play("sglang") and None


def endpoint_down(room: Room) -> None:
    room.prompts(6)
    room.work("--lease-ttl", "5s")
    room.done(6)
    room.product.run("import", "B1_glaive", str(room.product.folder / "B1_glaive.prompts.jsonl"))
    more = room.product.folder / "more.jsonl"
    more.write_text("".join(f'{{"sample_id": "m{n}", "prompt": "more {n}"}}\n' for n in range(4)))
    room.simulator.kill()
    room.product.run("import", "B1_glaive", str(more))
    wait_for(lambda: room.product.peek("SELECT up FROM endpoint_health") == [(0,)], "the server is known to be down")

    def back() -> None:
        room.simulator.start()
        room.done(10)
        wait_for(lambda: room.product.peek("SELECT up FROM endpoint_health") == [(1,)], "it is known to be well")

    room.happens["the server comes back"] = back


def disk_full(room: Room) -> None:
    room.prompts(3)
    (room.product.folder / "other-disk").mkdir()
    worker = room.work("--min-free-disk", "1000000GiB")
    wait_for(lambda: "disk_low" in worker.said(), "the worker looked at the disk")


def store_busy(room: Room) -> None:
    room.prompts(3)
    other = room.stack.enter_context(connection(room.product.db))
    other.execute("BEGIN IMMEDIATE")
    room.happens["the other program ends"] = lambda: other.execute("ROLLBACK") and None


def worker_dead(room: Room) -> None:
    room.prompts(6)
    room.simulator.play("sglang", latency="fixed:60")
    worker = room.work("--name", "gpu-1", "--concurrency", "3")
    wait_for(lambda: room.product.peek("SELECT count(*) FROM job WHERE state = 'leased'") == [(3,)], "three are leased")
    worker.kill()
    room.simulator.restart()


def reparse(room: Room) -> None:
    async def make() -> None:
        async with filled(room.product.db) as at:
            await at.dataset("B1_glaive", 5)
            await at.answer_next("B1_glaive", thought(1), thought(2))
            for number, lease in enumerate(await at.claim(3)):
                await answer(at, lease, thought(number), old_bug)

    anyio.run(make)
    raw.script(room.product.db, "UPDATE reading SET parser_version = 1 WHERE verdict = 'missing'")


def restore(room: Room) -> None:
    room.prompts(8)
    room.product.finish(room.simulator.url)
    (room.product.folder / "backups").mkdir()
    room.product.run("backup", "backups/thinkledger.db")
    raw.script(room.product.db, "DELETE FROM reading WHERE response_id = 2")


SCENES: dict[str, Scene] = {
    "Capture alarm": capture_alarm, "Endpoint down": endpoint_down, "Disk full": disk_full, "Store busy": store_busy,
    "Worker dead": worker_dead, "Re-parse after a parser fix": reparse, "Restore": restore,
}  # fmt: skip


@contextmanager
def room_of(product: Product) -> Iterator[Room]:
    programs(product.folder / "bin")
    with Simulator("--persona", "sglang") as simulator, ExitStack() as stack:
        yield Room(product, simulator, stack)


def test_every_section_has_a_scene() -> None:
    assert SECTIONS.keys() == SCENES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("title", list(SCENES))
def test_a_section_does_what_it_says(product: Product, title: str) -> None:
    with room_of(product) as room:
        SCENES[title](room)
        for step in SECTIONS[title]:
            _do(step, room)
        if room.worker is not None and room.worker.process.poll() is None:
            room.worker.signal(signal.SIGTERM)
            room.worker.wait(143)


def _do(step: Step, room: Room) -> None:
    match step:
        case Happens(what):
            room.happens.pop(what)()
        case Log(lines):
            assert room.worker is not None
            for line in lines:
                assert line in room.worker.said(), line
        case Command(typed, code, prints):
            found, said = run(step, room.product.folder, {SERVER: room.simulator.url})
            shown = "\n".join([f"$ {typed}", *said])
            assert found == code, shown
            assert alike(prints, said), f"{shown}\n--- the page shows\n" + "\n".join(prints)


def test_the_comparison_sees_what_differs() -> None:
    assert alike(("a 1,234 of ...", "...", "end"), ["a 7 of 12 things", "x", "y", "end"])
    assert alike(("12:01:02", "..."), ["14:59:59"])
    assert not alike(("a 1", "end"), ["a x", "end"])
    assert not alike(("a",), ["a", "b"])
    assert not alike((), ["a"])
