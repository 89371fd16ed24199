"""A conversation goes on by what a reparse finds, and is done when its answers came, not when they were read anew."""

import threading
from pathlib import Path
from types import ModuleType

import pytest

from app.capture import Asked, Reading, read_body
from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest
from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.leasing import conversations
from app.leasing.datasets import dataset_of
from app.model.lease import Lease, Settle
from app.model.verdicts import Verdict
from app.responses import healing, imported
from app.responses.rereading import Reparse, reparse
from app.responses.transitions import Report
from tests.integration.leasing.kit import open_room
from tests.integration.turns.kit import Talks, talks
from tests.support.filled import chat

pytestmark = pytest.mark.anyio
BUSY = b'{"error": "busy'


async def reparsed(store: Talks, *, apply: bool = True) -> Report:
    settings = await dataset_of(store.room.store, "talks")
    return await reparse(store.room.store, Reparse(settings, apply=apply), lambda _done, _all: None)


async def unread_by_an_older_parser(store: Talks, lease: Lease, turn: int, words: str) -> None:
    """A body that was taken for none, and failed its job for good."""
    response = await store.keep(lease, chat(f"thought of {words}</think>{words}"), turn)
    store.bodies[response] = BUSY
    await store.settle(response, lease, turn, failure=store.room.failure(lease, Settle.GIVE_UP))


async def test_a_conversation_that_a_reparse_ends_was_done_when_its_answer_came(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, "a")
        await unread_by_an_older_parser(store, lease, 1, "b")
        came_ms = store.room.clock.ms
        store.room.clock.ms += 7_200_000
        for apply in (False, True):
            report = await reparsed(store, apply=apply)
            assert (report.changed, report.finished, report.reopened) == (1, 1, 0)
        assert await store.standing(lease.job) == [(0, "a"), (1, "b")]
        assert await store.room.all("SELECT state, finished_ms, imported FROM job") == [("done", came_ms, 0)]
        minutes = await store.room.all("SELECT minute, done FROM bucket WHERE done > 0")
        assert minutes == [(came_ms // 60_000, 1)]
        await store.check()


async def test_a_reparse_unpacks_and_hashes_conversations_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of them takes longer than the pages of the same process may wait."""
    in_threads: dict[str, set[int]] = {}

    def noted(module: ModuleType, name: str) -> None:
        real = getattr(module, name)

        def note(*arguments: object) -> object:
            in_threads.setdefault(name, set()).add(threading.get_ident())
            return real(*arguments)

        monkeypatch.setattr(module, name, note)

    async with talks(tmp_path, 3) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, "a")
        await unread_by_an_older_parser(store, lease, 1, "b")
        for module, name in ((healing, "unpack"), (healing, "was_sent"), (conversations, "unpack")):
            noted(module, name)
        report = await reparsed(store, apply=False)
        assert report.changed == 1
    assert set(in_threads) == {"unpack", "was_sent"}
    assert threading.get_ident() not in set[int]().union(*in_threads.values())


async def test_an_answer_that_was_put_aside_comes_back_by_no_reparse(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        assert await store.answer(lease, 0, "a")
        await unread_by_an_older_parser(store, lease, 1, "b")
        await store.room.execute("UPDATE response SET accepted_seq = 1, superseded_seq = 2 WHERE turn = 1")
        report = await reparsed(store)
        assert (report.changed, report.finished) == (1, 0)
        assert await store.job(lease.job) == ("failed", 1)
        await store.check()


async def test_a_dry_reparse_counts_no_conversation_that_only_goes_on(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        await unread_by_an_older_parser(store, lease, 0, "a")
        for apply in (False, True):
            report = await reparsed(store, apply=apply)
            assert (report.changed, report.finished) == (1, 0)
        assert await store.job(lease.job) == ("ready", 1)
        await store.check()


async def test_an_answer_of_an_older_attempt_stands_in_where_it_was_asked_after_what_stands_now(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 3) as store:
        worker = await store.room.worker()
        same, other = await store.room.claim(worker)
        for lease in (same, other):
            assert await store.answer(lease, 0, "a")
            await unread_by_an_older_parser(store, lease, 1, "b")
        await store.room.execute("UPDATE job SET state = 'ready', cause = NULL")
        await store.room.execute(f"UPDATE job SET turn = 0 WHERE id = {int(other.job)}")
        for lease in await store.room.claim(worker):
            if lease.job == other.job:
                assert await store.answer(lease, 0, "another a")
            await store.room.fail(lease, Settle.GIVE_UP)
        assert (await reparsed(store)).changed == 2
        assert await store.job(same.job) == ("ready", 2)
        assert await store.job(other.job) == ("failed", 1)
        await store.check()


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    """The archive of a conversation of three turns."""
    (tmp_path / "first").mkdir()
    async with talks(tmp_path / "first", 3) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        for turn, words in enumerate("abc"):
            assert await store.answer(lease, turn, words)
        await export_dataset(store.room.store, ExportRequest("talks", tmp_path / "full.jsonl", preset=Preset.FULL))
    return tmp_path / "full.jsonl"


@pytest.mark.parametrize("words", ["a", "b", "c"])
async def test_an_imported_conversation_heals_whole_whichever_of_its_turns_was_taken_for_no_answer(
    tmp_path: Path, archive: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(status: int | None, body: bytes, asked: Asked) -> Reading:
        broken = f"</think>{words}".encode() in body
        return Reading(Verdict.MALFORMED, frozenset({"not_json"})) if broken else read_body(status, body, asked)

    async with open_room(tmp_path / "t.db") as room:
        with monkeypatch.context() as patched:
            patched.setattr(imported, "read_body", older)
            await import_file(room.store, ImportRequest("talks", str(archive)), lambda _progress: None)
        store = Talks(room)
        assert await room.all("SELECT state, turn FROM job") == [("ready", 0)]
        for apply in (False, True):
            report = await reparsed(store, apply=apply)
            assert (report.changed, report.finished) == (1, 1)
        assert await room.all("SELECT turn, content FROM answer ORDER BY turn") == [(0, "a"), (1, "b"), (2, "c")]
        facts = await room.all("SELECT state, job.turn, imported, finished_ms = received_ms FROM job JOIN response"
                               " ON job_id = job.id WHERE response.turn = 2")  # fmt: skip
        assert facts == [("done", 3, 1, 1)]
        assert await room.all("SELECT done FROM bucket WHERE done > 0") == []
        await store.check()


def calling(name: str) -> bytes:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return chat(None, reasoning="call it", tool_calls=[call])


async def test_an_early_end_that_is_read_otherwise_is_asked_on_from_there(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        response = await store.keep(lease, chat("thought of b</think>b"), 1)
        store.bodies[response] = calling("nobody knows")  # what an older parser saw in it
        assert await store.settle(response, lease, 1)
        assert await store.job(lease.job) == ("done", 2)
        for apply in (False, True):
            report = await reparsed(store, apply=apply)
            assert (report.changed, report.finished, report.reopened, report.regressions) == (1, 0, 1, 0)
        assert await store.job(lease.job) == ("ready", 2)
        assert await store.standing(lease.job) == [(0, "a"), (1, "b")]
        (again,) = await store.room.claim(worker)
        assert await store.sent(again) == ["human 0", "a", "human 1", "b", "human 2"]
        assert await store.answer(again, 2, "c")
        assert await store.standing(lease.job) == [(0, "a"), (1, "b"), (2, "c")]
        assert (await reparsed(store)).reopened == 0
        await store.check()


async def test_an_early_end_that_is_asked_on_in_vain_is_the_end_again(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        response = await store.keep(lease, chat("thought of a</think>a"), 0)
        store.bodies[response] = calling("nobody knows")
        assert await store.settle(response, lease, 0)
        assert (await reparsed(store)).reopened == 1
        (again,) = await store.room.claim(worker)
        await store.room.fail(again, Settle.GIVE_UP)
        assert await store.job(lease.job) == ("done", 1)
        assert await store.standing(lease.job) == [(0, "a")]
        await store.check()
