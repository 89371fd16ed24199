"""A worker tells the store which of its servers may be asked, and why one may not."""

import json
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from sqlalchemy import text

from app.leasing.workers import Registration, register
from app.model.exits import Exit
from app.store.store import Store, open_store
from tests.integration.store.kit import run
from tests.integration.worker.test_running import Lines, against, beside, models, settings
from tests.support.product import Product
from worker.endpoint import Endpoint
from worker.health import LONGEST, tell_health
from worker.pool import Pool, Server
from worker.pressure import Pressure
from worker.supervisor import run_worker

KEY = "sk-canary-4711"


async def told(store: Store) -> list[tuple[Any, ...]]:
    async with store.snapshot() as reads:
        return [tuple(row) for row in await reads.rows(text("SELECT up, reason FROM endpoint_health"))]


@pytest.fixture
def product(tmp_path: Any) -> Product:
    return Product(tmp_path)


def test_a_server_that_refuses_is_told_of_without_our_key_and_again_when_it_is_up(product: Product) -> None:
    product.import_prompts("one", ["question"])
    well = False
    said: list[list[tuple[Any, ...]]] = []

    def answering(head: bytes) -> tuple[bytes, bytes]:
        if not well:
            return b"503 Service Unavailable", json.dumps({"error": f"key {KEY} is not welcome yet"}).encode()
        return (b"400 Bad Request", b"no") if b"/chat/" in head else (b"200 OK", models("kimi"))

    async def script() -> None:
        nonlocal well
        async with open_store(str(product.db)) as store:
            with anyio.fail_after(60):
                while not ((now := await told(store)) and "503" in str(now[0][1])):  # noqa: ASYNC110 - the fact is the worker's
                    await anyio.sleep(0.05)
                said.append(now)
                well = True
                while (now := await told(store))[0][0] != 1:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
                said.append(now)

    async def work(url: str) -> Exit:
        log = Lines(secrets=(KEY,))
        return await beside(run_worker(settings(product, url, api_key=KEY, until_empty=False, limit=2), log), script)

    async def both(url: str) -> Exit:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_second_prompt_when_told, product, said)
            return await work(url)
        raise AssertionError

    assert run(lambda: against(answering, both)) is Exit.INCOMPLETE
    ((down,), (up,)) = said
    assert down[0] == 0
    assert KEY not in down[1]
    assert up == (1, None)


async def _second_prompt_when_told(product: Product, said: list[Any]) -> None:
    """The run ends with its second job, which comes when both words were seen."""
    with anyio.fail_after(100):
        while len(said) < 2:  # noqa: ASYNC110 - the fact is the other task's
            await anyio.sleep(0.05)
    await anyio.to_thread.run_sync(product.import_prompts, "two", ["another"])


def test_words_of_a_server_that_no_store_takes_are_told_all_the_same(product: Product) -> None:
    product.import_prompts("one", ["question"])

    async def work() -> list[tuple[Any, ...]]:
        server = Server(cast("Endpoint", SimpleNamespace(base_url="http://server/v1")), Pressure.open(1))
        server.trouble = "k\udcff\0" + "x" * 2000
        said: list[tuple[Any, ...]] = []
        async with open_store(str(product.db)) as store:
            worker = await store.write(register, Registration("u", "w", "h", 1, "b", "0", slots=1, ttl_ms=60_000))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell_health, store, worker, Pool([server], 1))
                with anyio.fail_after(30):
                    while not said:
                        said.extend(await told(store))
                        await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
        return said

    assert run(work) == [(0, ("k\\udcff\\x00" + "x" * 2000)[:LONGEST])]
