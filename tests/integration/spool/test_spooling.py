"""An answer that the store does not take goes to the spool, and what could not be settled is settled later."""

import errno
import os
from pathlib import Path

import anyio
import pytest

from app.leasing.claim import Prompt
from app.model.errors import IntegrityFailure, Unavailable
from app.spool.file import SpoolFile
from tests.integration.spool import kit
from tests.integration.store import raw
from tests.integration.store.kit import process, run, says, tell
from tests.support.filled import chat, filled, thought

PROMPT = Prompt("s1", 0, "[]", None, None, "{}", dataset="data", content_sha256="0")


def test_an_answer_goes_to_the_spool_while_the_store_is_locked_and_may_ask_says_no(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db", patient=True, busy_timeout_ms=20) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            with kit.tools_of(room) as tools:
                replayer = kit.replayer(room, tools)
                await replayer.look()
                assert tools.spooling.may_ask
                with process("hold", room.store.place.path) as other:
                    assert says(other) == "held"
                    assert await tools.spooling.keep(kit.packed(room, lease, thought(1)), PROMPT) is None
                    assert not tools.spooling.may_ask
                    assert isinstance(tools.spooling.left_behind(), Unavailable)
                    with pytest.raises(Unavailable):
                        await replayer.look()
                    tell(other)
                await replayer.look()
                assert tools.spooling.may_ask
                assert tools.spooling.left_behind() is None

    run(work)
    assert kit.rows(tmp_path / "t.db") == [("s1", "done", 1, 0, 1, 0, 1, 0, "split_from_content")]


def test_an_answer_that_neither_store_nor_spool_takes_is_held_until_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = anyio.Event()

    def full(_file: SpoolFile, _answer: object) -> None:
        anyio.from_thread.run_sync(tried.set)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def work() -> None:
        async with filled(tmp_path / "t.db", patient=True, busy_timeout_ms=20) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            with kit.tools_of(room) as tools:
                tools.spooling.looked = True
                monkeypatch.setattr(SpoolFile, "append", full)
                with process("hold", room.store.place.path) as other:
                    assert says(other) == "held"
                    async with anyio.create_task_group() as slots:
                        slots.start_soon(tools.spooling.keep, kit.packed(room, lease, thought(1)), PROMPT)
                        await tried.wait()
                        while not tools.spooling.stuck:
                            await anyio.lowlevel.checkpoint()
                        assert not tools.spooling.may_ask
                        tell(other)
                assert tools.spooling.may_ask

    run(work)
    assert raw.query(tmp_path / "t.db", "SELECT count(*) FROM response") == [(1,)]


def test_an_answer_that_a_damaged_store_cannot_take_is_in_the_spool(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def prepare() -> None:
        async with filled(path) as room:
            await room.dataset("data", 1)

    async def work() -> None:
        async with filled(path, patient=True) as room:
            with kit.tools_of(room) as tools:
                room.thinking[1] = None  # type: ignore[index]
                (lease,) = await room.claim(1)
                with anyio.CancelScope(shield=True):
                    assert await tools.spooling.keep(kit.packed(room, lease, thought(1)), PROMPT) is None
                    assert len(tools.spooling.file.waiting) == 1

    run(prepare)
    raw.spoil(path, ["response"])
    with pytest.raises(IntegrityFailure):
        run(work)


def test_a_settling_that_cannot_be_committed_is_done_later(tmp_path: Path) -> None:
    async def work() -> None:
        async with filled(tmp_path / "t.db", patient=True, busy_timeout_ms=20) as room:
            await room.dataset("data", 1)
            (lease,) = await room.claim(1)
            with kit.tools_of(room) as tools:
                response = await tools.spooling.keep(kit.packed(room, lease, chat("no thought")), PROMPT)
                assert response is not None
                tools.spooling.unsettled.add(response)
                assert not tools.spooling.idle
                await kit.replayer(room, tools).look()
                assert tools.spooling.idle

    run(work)
    assert kit.rows(tmp_path / "t.db")[0][1] == "done"
