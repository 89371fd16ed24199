"""How large a row may be, and how slowly it may arrive, on a store that a network and a server's limits lie before."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from app.store.store import open_store
from app.store.tables import EVENT
from app.store.transaction import Tx
from tests.integration.leasing.kit import open_room
from tests.support.between import wire
from tests.support.filled import chat
from tests.support.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("on_server")]
LARGEST = 64 << 20  # --max-body
SILENCE_S, LINK, ARRIVES_S = 1, 2_000_000, 3  # a text that takes three times as long as a transaction may be silent


def noise(count: int) -> str:
    """Letters that no compression makes much shorter."""
    return random.Random(count).randbytes(count // 2).hex()


async def test_the_largest_body_is_stored_and_read_whole(tmp_path: Path) -> None:
    thought = noise(LARGEST - 1000)
    body = chat(f"{thought}</think>answer")
    assert len(body) <= LARGEST
    async with open_room(tmp_path / "t.db") as room:
        await room.dataset("d", 1)
        (lease,) = await room.claim(await room.worker())
        assert await room.settle(await room.keep(lease, body), lease)
        assert await room.all("SELECT reasoning, content FROM reading") == [(thought, "answer")]


async def test_whatever_a_server_calls_the_end_of_its_answer_is_stored(tmp_path: Path) -> None:
    async with open_room(tmp_path / "t.db") as room:
        await room.dataset("d", 1)
        (lease,) = await room.claim(await room.worker())
        body = chat("thought</think>answer", finish=noise(100_000))
        assert await room.settle(await room.keep(lease, body), lease)
        found = await room.all("SELECT job.finish_reason, reading.finish_reason FROM job, reading")
    assert found == [(noise(100_000)[:100], noise(100_000)[:100])]


async def test_what_arrives_slowly_is_no_silence(tmp_path: Path, on_server: Server) -> None:
    url = on_server.url_of(str(tmp_path / "t.db"))
    said = noise(LINK * ARRIVES_S)

    async def write(tx: Tx, kinds: Sequence[str]) -> list[None]:
        await tx.value(text(f"SELECT set_config('idle_in_transaction_session_timeout', '{SILENCE_S}s', true)"))
        await tx.many(insert(EVENT), [{"at_ms": 0, "kind": "slow", "detail": json.dumps(kind)} for kind in kinds])
        return [None for _ in kinds]

    with wire(on_server.port) as cable:
        async with open_store(url.replace(f":{on_server.port}/", f":{cable.port}/")) as store:
            cable.bytes_a_second = LINK
            await store.write(write, said)
    found = on_server.run("SELECT length(detail) FROM event WHERE kind = 'slow'", database=url.rpartition("/")[2])
    assert [row[0] for row in found] == [len(json.dumps(said))]
