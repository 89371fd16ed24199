"""Spooled answers, new readings, deletion and the evening-out of a conversation's facts."""

from pathlib import Path

import pytest

from app.leasing.datasets import dataset_of
from app.model.ids import WorkerId
from app.model.lease import Lease, Settle
from app.model.verdicts import Verdict
from app.responses.rereading import Reparse, reparse
from app.responses.spooled import Outcome, Spooled, bring_in
from app.spool.record import SpooledAnswer
from app.store.codec import pack
from tests.integration.turns.kit import Talks, talks
from tests.support.filled import LOST, chat

pytestmark = pytest.mark.anyio


async def test_a_spooled_answer_to_a_turn_is_taken_and_an_older_one_is_late(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        first = await store.room.worker()
        (lease,) = await store.room.claim(first)
        body = chat("why</think>a")
        brought = await store.room.store.write(bring_in, await spooled(store, lease, body, 0, first))
        assert brought.outcome is Outcome.STORED
        store.bodies[brought.response] = body
        assert await store.settle(brought.response, lease, 0, holds=False)
        assert await store.job(lease.job) == ("ready", 1)
        again = await store.room.store.write(bring_in, await spooled(store, lease, body, 0, first))
        assert again.response == brought.response
        (newer,) = await store.room.claim(first)
        assert not await store.answer(lease, 1, "late")
        assert await store.answer(newer, 1, "b")
        await store.check()


async def test_a_spooled_later_turn_of_a_store_that_was_restored_is_kept_apart(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        answer = await spooled(store, lease, chat("why</think>b"), 1, worker)
        await store.room.execute("UPDATE meta SET epoch = epoch + 1")
        await store.room.execute("UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL")
        assert (await store.room.store.write(bring_in, answer)).outcome is Outcome.UNMATCHED


async def test_a_reparse_lets_a_conversation_say_what_its_turns_come_to_now(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        assert await store.answer(lease, 1, "b")
        await store.room.execute("UPDATE reading SET verdict = 'missing', reasoning = NULL WHERE response_id = 2")
        await store.room.execute("UPDATE job SET verdict = 'missing', preview = 'b'")
        settings = await dataset_of(store.room.store, "talks")
        report = await reparse(store.room.store, Reparse(settings, apply=True), lambda _done, _all: None)
        assert report.changed == 1
        assert (await store.room.job(lease.job)).verdict == "split_from_content"
        await store.check()


async def test_a_body_that_becomes_readable_lets_its_conversation_go_on(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        response = await store.keep(lease, chat("why</think>b"), 1)
        store.bodies[response] = b'{"error": "busy'  # what an older parser made of it
        failure = store.room.failure(lease, Settle.GIVE_UP)
        await store.settle(response, lease, 1, failure=failure)
        assert await store.job(lease.job) == ("failed", 1)
        settings = await dataset_of(store.room.store, "talks")
        report = await reparse(store.room.store, Reparse(settings, apply=True), lambda _done, _all: None)
        assert (report.changed, report.finished) == (1, 0)
        assert await store.job(lease.job) == ("ready", 2)
        (again,) = await store.room.claim(worker)
        assert await store.sent(again) == ["human 0", "a", "human 1", "b", "human 2"]
        await store.check()


async def test_a_reparse_that_would_worsen_a_turn_on_the_way_is_not_written_unasked(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, LOST[Verdict.MISSING])
        await store.room.execute("UPDATE reading SET verdict = 'captured_field', reasoning = 'had it'")
        settings = await dataset_of(store.room.store, "talks")
        report = await reparse(store.room.store, Reparse(settings, apply=True), lambda _done, _all: None)
        assert (report.changed, report.regressions, report.kept) == (1, 1, 1)
        assert await store.room.all("SELECT count(*) FROM reading") == [(1,)]


async def spooled(store: Talks, lease: Lease, body: bytes, turn: int, bringer: WorkerId) -> Spooled:
    """An answer as it lies in a spool."""
    prompt = await store.prompt(lease)
    names = (prompt.dataset, prompt.sample_id, prompt.replica, prompt.content_sha256)
    answer = SpooledAnswer(store.room.store.store_id, *names, await store.reply(lease, body, turn), pack(body))
    return Spooled(answer, bringer)
