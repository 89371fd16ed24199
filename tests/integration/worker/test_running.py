"""A worker in this process against a simulator, with limits that a test can wait for."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from sqlalchemy import text

from app.leasing.datasets import dataset_of
from app.model.exits import Exit
from app.model.lease import Reply
from app.responses.keep import PackedReply, keep
from app.responses.rereading import Reparse, reparse
from app.store.codec import Packed, pack
from app.store.store import open_store
from app.verify.verifying import Told, verify
from tests.integration.spool.kit import tools_of
from tests.integration.store.kit import run
from tests.support.filled import Filled, chat, filled
from tests.support.product import Product
from tests.support.simulator import Simulator
from worker.log import Log
from worker.pressure import FIRST_PAUSE_S
from worker.replaying import read_stored
from worker.supervisor import WorkerSettings, run_worker
from worker.watcher import Limits

SHORT = Limits(silent_s=0.5, health_s=2.0, reread_s=3600.0, preflight_s=0.5)


class Lines(Log):
    """A log that can be asked."""

    said: list[str] = []  # noqa: RUF012 - one test at a time

    def _line(self, level: str, event: str, facts: dict[str, str | float | None]) -> None:
        self.said.append(" ".join([level, event, *(f"{name}={value}" for name, value in facts.items())]))

    def has(self, words: str) -> bool:
        return any(words in line for line in self.said)


@pytest.fixture
def log() -> Lines:
    Lines.said.clear()
    return Lines()


def settings(product: Product, *urls: str, **more: Any) -> WorkerSettings:
    chosen: dict[str, Any] = {"until_empty": True, "preflight": False, "watch": SHORT, "concurrency": 4}
    return WorkerSettings(str(product.db), urls, **(chosen | more))


def prompts(size: int) -> list[str]:
    return [f"question {number}" for number in range(size)]


async def beside(work: Awaitable[Exit], script: Callable[[], Awaitable[None]]) -> Exit:
    """Let a script run while the worker does; its exit code."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(script)
        with anyio.fail_after(120):
            code = await work
    return code


async def wait_for(fact: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not fact():  # noqa: ASYNC110 - the fact is another process's
            await anyio.sleep(0.01)


async def rows(product: Product, sql: str) -> list[tuple[Any, ...]]:
    async with open_store(str(product.db)) as store, store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text(sql))]


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)


def test_a_server_that_hangs_with_its_health_is_cut_and_its_jobs_are_given_back_uncounted(
    product: Product, log: Lines
) -> None:
    product.import_prompts("hung", prompts(12))

    async def work(simulator: Simulator) -> tuple[Exit, list[tuple[Any, ...]]]:
        async def script() -> None:
            await wait_for(lambda: log.has("endpoint_hangs") and log.has("endpoint_not_ready"))
            await anyio.to_thread.run_sync(lambda: simulator.play("sglang", faults=[]))

        code = await beside(run_worker(settings(product, simulator.url), log), script)
        return code, await rows(product, "SELECT DISTINCT state, tries, expiries, deaths FROM job")

    with Simulator("--fault", "hang_all@after:4") as simulator:
        code, jobs = run(lambda: work(simulator))
    assert code is Exit.DONE
    assert jobs == [("done", 0, 0, 0)]
    assert log.has("cause=unreachable")


def test_a_quiet_server_whose_health_is_well_is_only_thinking(product: Product, log: Lines) -> None:
    product.import_prompts("slow", prompts(2))
    with Simulator("--latency", "fixed:1.5") as simulator:
        assert run(lambda: run_worker(settings(product, simulator.url), log)) is Exit.DONE
    assert not log.has("endpoint_hangs")


def test_a_preflight_question_that_is_not_answered_says_so_at_once_and_what_to_do(product: Product, log: Lines) -> None:
    product.import_prompts("waiting", prompts(2))

    async def work(simulator: Simulator) -> Exit:
        async def script() -> None:
            await wait_for(lambda: log.has("preflight_asks"))
            await wait_for(lambda: log.has("no whole answer within 0.5 s") and log.has("--skip-preflight"))
            await anyio.to_thread.run_sync(lambda: simulator.play("sglang"))

        return await beside(run_worker(settings(product, simulator.url, preflight=True), log), script)

    with Simulator("--persona", "hang") as simulator:
        assert run(lambda: work(simulator)) is Exit.DONE


def test_while_the_server_of_one_model_is_down_the_other_dataset_is_done_and_nothing_is_claimed_in_vain(
    product: Product, log: Lines
) -> None:
    for name in ("first", "second"):
        product.import_prompts(name, prompts(40))
        product.run("datasets", "set", name, "--model", name)

    async def work(second: Simulator, first: Simulator) -> tuple[Exit, int]:
        meanwhile: list[int] = []

        async def script() -> None:
            await wait_for(lambda: second.stats()["answers"] == 40)
            meanwhile.extend(n for (n,) in await rows(product, "SELECT sum(attempt) FROM job WHERE dataset_id = 1"))
            await anyio.to_thread.run_sync(first.start)

        urls = (first.url, second.url)
        code = await beside(run_worker(settings(product, *urls), log), script)
        return code, meanwhile[0]

    with Simulator("--model", "second") as second:
        first = Simulator("--model", "first")
        with first:  # for a port of its own
            pass
        try:
            code, claimed = run(lambda: work(second, first))
        finally:
            first.kill()
    assert code is Exit.DONE
    assert claimed == 0


def test_limit_counts_what_came_to_an_end_and_the_code_tells_of_failures(product: Product, log: Lines) -> None:
    product.import_prompts("limited", [f"poison {n}" if n == 5 else f"question {n}" for n in range(20)])
    with Simulator("--fault", "http_500@first:3", "--fault", "http_400@prompt:poison") as simulator:
        chosen = settings(product, simulator.url, until_empty=False, limit=7, concurrency=2)
        assert run(lambda: run_worker(chosen, log)) is Exit.INCOMPLETE
    states = dict(run(lambda: rows(product, "SELECT state, count(*) FROM job GROUP BY 1")))
    assert (states["done"], states["failed"]) == (6, 1)
    with Simulator() as simulator:
        chosen = settings(product, simulator.url, until_empty=False, limit=5)
        assert run(lambda: run_worker(chosen, log)) is Exit.DONE  # the failure is of another run
    assert dict(run(lambda: rows(product, "SELECT state, count(*) FROM job GROUP BY 1")))["done"] == 11


def test_one_server_that_is_spelled_in_two_ways_is_one(product: Product, log: Lines) -> None:
    product.import_prompts("once", prompts(12))
    with Simulator("--latency", "fixed:0.1") as simulator:
        urls = (simulator.url, simulator.base_url, simulator.url + "/")
        assert run(lambda: run_worker(settings(product, *urls, concurrency=2), log)) is Exit.DONE
    assert sum("endpoint_up" in line for line in log.said) == 1


def test_a_model_that_nobody_serves_ends_the_run_when_the_rest_is_done(product: Product, log: Lines) -> None:
    from app.model.errors import UsageError

    product.import_prompts("good", prompts(20))
    product.import_prompts("lost", prompts(3))
    product.run("datasets", "set", "lost", "--model", "nobody")
    with Simulator() as simulator, pytest.raises(UsageError, match="asks for the model nobody"):
        run(lambda: run_worker(settings(product, simulator.url), log))
    states = run(lambda: rows(product, "SELECT dataset_id, state, attempt, count(*) FROM job GROUP BY 1, 2, 3"))
    assert states == [(1, "done", 1, 20), (2, "ready", 0, 3)]


Answering = Callable[[bytes], tuple[bytes, bytes]]  # from the head of a request to status line and body


async def against(answering: Answering, work: Callable[[str], Awaitable[Exit]], latency_s: float = 0.0) -> Exit:
    """Work with a server that says what no simulator says."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        status, body = answering(head)
        await asyncio.sleep(latency_s if b"/chat/" in head else 0)
        writer.write(b"HTTP/1.1 %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(body), body))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        return await work(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


def models(*names: str) -> bytes:
    return json.dumps({"data": [{"id": name} for name in names]}).encode()


def test_a_long_refusal_is_kept_up_to_its_first_mebibyte_and_without_our_key(product: Product, log: Lines) -> None:
    """The key is cut in two by the end of what is kept, and the beginning of it goes too."""
    product.import_prompts("long", prompts(1))
    key = "sk-canary-4711"
    body = key.encode() + b"x" * (2**20 - 24) + key.encode() * 200_000

    def answering(head: bytes) -> tuple[bytes, bytes]:
        return (b"400 Bad Request", body) if b"/chat/" in head else (b"200 OK", models("kimi"))

    code = run(lambda: against(answering, lambda url: run_worker(settings(product, url, api_key=key), log)))
    assert code is Exit.INCOMPLETE
    (kept,) = run(lambda: rows(product, "SELECT cause, http_status, body FROM failure"))
    assert kept[:2] == ("rejected", 400)
    assert 2**20 - 30 <= len(kept[2]) <= 2**20 + 30
    assert b"canary" not in kept[2]
    assert b"sk-c" not in kept[2]


def test_a_server_that_lists_two_models_in_the_middle_of_a_run_ends_no_run(product: Product, log: Lines) -> None:
    product.import_prompts("strange", prompts(6))

    def answering(head: bytes) -> tuple[bytes, bytes]:
        if b"/chat/" not in head:
            return b"200 OK", models("kimi", "other") if log.has("endpoint_up") else models("kimi")
        if not log.has("endpoint_unreadable"):
            return b"429 Too Many Requests", b"{}"
        return b"200 OK", chat("thought</think>answer")

    watch = Limits(reread_s=0.1)
    code = run(lambda: against(answering, lambda url: run_worker(settings(product, url, watch=watch), log)))
    assert code is Exit.DONE
    assert log.has("several models: kimi, other")


def test_a_refusal_is_heeded_before_its_place_is_given_to_the_next_prompt(product: Product, log: Lines) -> None:
    product.import_prompts("busy", prompts(8))
    asked_s: list[float] = []

    def answering(head: bytes) -> tuple[bytes, bytes]:
        if b"/chat/" not in head:
            return b"200 OK", models("kimi")
        asked_s.append(time.monotonic())
        if len(asked_s) <= 4:
            return b"429 Too Many Requests", b"{}"
        return b"200 OK", chat("thought</think>answer")

    # So long that the worker waits for nothing but answers when they come.
    code = run(lambda: against(answering, lambda url: run_worker(settings(product, url), log), latency_s=0.7))
    assert code is Exit.DONE
    assert asked_s[4] - asked_s[0] >= 0.7 + FIRST_PAUSE_S


def test_a_stored_body_that_cannot_be_read_is_told_of_and_its_job_goes_on(tmp_path: Path, log: Lines) -> None:
    async def work() -> list[tuple[Any, ...]]:
        async with filled(tmp_path / "t.db") as room:
            await room.dataset("mixed", 4)
            kept = [
                await room.store.write(keep, PackedReply(reply, packed(place, reply.body)))
                for place, reply in enumerate(await replies(room))
            ]
            with tools_of(room) as tools:
                await read_stored(kept, room.worker, replace(tools, log=log))
            async with room.store.snapshot() as reads:
                read = "SELECT flags FROM reading WHERE verdict = 'malformed'"
                assert [tuple(row) for row in await reads.rows(text(read))] == [('["unreadable"]',)] * 2
                causes = await reads.rows(text("SELECT cause, message FROM failure ORDER BY id"))
                assert [row.cause for row in causes] == ["malformed"] * 2
                assert "the stored body cannot be read: Unknown profile 'of the future'" in causes[0].message
                jobs = [tuple(row) for row in await reads.rows(text("SELECT id, state FROM job ORDER BY id"))]
            found: list[str] = []
            await verify(room.store, Told(lambda finding: found.append(finding.line)), full=True)
            assert len(found) == 1
            assert "cannot be unpacked" in found[0]
            settings = await dataset_of(room.store, "mixed")
            report = await reparse(room.store, Reparse(settings, apply=True), lambda _done, _all: None)
            assert (report.bodies, report.unchanged) == (4, 4)
            return jobs

    def packed(place: int, body: bytes) -> Packed:
        whole = pack(body)
        return replace(whole, codec="zstd", raw=b"no zstd") if place == 3 else whole

    async def replies(room: Filled) -> list[Reply]:
        return [
            Reply(
                lease=lease, body=chat("thought</think>answer"), http_status=200, requested_ms=1, received_ms=2,
                form="chat", request="{}", request_sha256="0", raw_text_sent=True, expected=True,
                profile="of the future" if place == 1 else "think",
            )
            for place, lease in enumerate(await room.claim(4))
        ]  # fmt: skip

    assert run(work) == [(1, "done"), (2, "waiting"), (3, "done"), (4, "waiting")]
    told = [line for line in log.said if "body_unreadable" in line]
    assert len(told) == 2
    assert "Unknown profile 'of the future'" in told[0]
