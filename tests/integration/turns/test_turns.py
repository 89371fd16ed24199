"""A conversation keeps its lease from turn to turn, goes on after any end, and is accepted as a whole."""

from pathlib import Path

import pytest

from app.leasing.datasets import dataset_of
from app.leasing.release import release
from app.model.lease import Settle
from app.model.verdicts import Verdict
from app.responses.rereading import Reparse, reparse
from app.responses.unread import load_bodies
from tests.integration.turns.kit import talks
from tests.support.filled import LOST, chat
from worker.turns import turn_stored

pytestmark = pytest.mark.anyio


async def test_a_conversation_keeps_its_lease_until_its_last_turn(tmp_path: Path) -> None:
    async with talks(tmp_path, 3, 1) as store:
        worker = await store.room.worker()
        lease, single = await store.room.claim(worker)
        assert await store.sent(lease) == ["human 0"]
        assert await store.answer(lease, 0, "a")
        assert await store.job(lease.job) == ("leased", 1)
        assert await store.sent(lease) == ["human 0", "a", "human 1"]
        assert await store.standing(lease.job) == []
        assert await store.answer(lease, 1, "b")
        assert await store.answer(lease, 2, "c")
        assert await store.job(lease.job) == ("done", 3)
        assert await store.standing(lease.job) == [(0, "a"), (1, "b"), (2, "c")]
        assert await store.room.answer(single)
        assert await store.job(single.job) == ("done", 0)
        await store.check()


async def test_a_crash_goes_on_at_the_next_turn(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        first = await store.room.worker()
        (lease,) = await store.room.claim(first)
        assert await store.answer(lease, 0, "a")
        second = await store.room.worker()
        assert (await store.room.rescue(first, second)).jobs == 1
        assert await store.job(lease.job) == ("ready", 1)
        (again,) = await store.room.claim(second)
        assert await store.sent(again) == ["human 0", "a", "human 1"]
        assert not await store.answer(lease, 1, "of the dead")
        assert await store.answer(again, 1, "b")
        assert await store.standing(lease.job) == [(0, "a"), (1, "b")]
        assert await store.room.all("SELECT turn, late FROM response WHERE late = 1") == [(1, 1)]
        await store.check()


async def test_a_body_that_nobody_read_is_taken_and_its_job_is_offered(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        first = await store.room.worker()
        (lease,) = await store.room.claim(first)
        response = await store.keep(lease, chat("why</think>a"), 0)
        second = await store.room.worker()
        rescued = await store.room.rescue(first, second)
        assert (rescued.jobs, rescued.unread) == (0, (response,))
        (stored,) = await load_bodies(store.room.store, [response], second)
        taken = turn_stored(stored, stored.read())
        assert taken is not None
        assert (taken.turn, taken.last, taken.until_ms) == (0, False, None)
        assert await store.settle(response, lease, 0, holds=False)
        assert await store.job(lease.job) == ("ready", 1)
        await store.check()


async def test_tries_and_expiries_are_counted_for_each_turn_anew(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        for turn in range(2):
            for _ in range(2):  # one less than the dataset's max_attempts
                (lease,) = await store.room.claim(worker)
                assert await store.room.fail(lease) == "waiting"
                store.room.clock.ms += 2_000
            (lease,) = await store.room.claim(worker)
            assert await store.answer(lease, turn, "abc"[turn])
            assert (await store.room.job(lease.job)).tries == 0
            await store.room.store.write(release, lease)
        assert await store.job(lease.job) == ("ready", 2)
        await store.check()


async def test_a_conversation_that_fails_keeps_its_turns_for_a_retry(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        assert await store.room.fail(lease, Settle.GIVE_UP) == "failed"
        assert await store.standing(lease.job) == []
        await store.check()
        await store.retry("failed")
        (again,) = await store.room.claim(worker)
        assert await store.sent(again) == ["human 0", "a", "human 1"]
        assert await store.answer(again, 1, "b")
        assert await store.standing(lease.job) == [(0, "a"), (1, "b")]


async def test_a_retry_begins_at_the_first_turn_of_the_chosen_verdict(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        assert await store.answer(lease, 1, LOST[Verdict.TRUNCATED])
        assert await store.answer(lease, 2, "c")
        row = await store.room.job(lease.job)
        assert (row.verdict, row.completion_tokens) == ("truncated", 150)
        await store.retry("done", verdict="truncated")
        assert await store.job(lease.job) == ("ready", 1)
        (again,) = await store.room.claim(worker)
        assert await store.answer(again, 1, "new b")
        assert [content for _, content in await store.standing(lease.job)] == ["a", None, "c"]
        assert await store.answer(again, 2, "new c")
        assert await store.standing(lease.job) == [(0, "a"), (1, "new b"), (2, "new c")]
        assert (await store.room.job(lease.job)).verdict == "split_from_content"
        await store.check()


async def test_a_retry_that_fails_for_good_leaves_the_earlier_conversation(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        assert await store.answer(lease, 0, "a")
        assert await store.answer(lease, 1, "b")
        await store.retry("done")
        (again,) = await store.room.claim(worker)
        assert await store.sent(again) == ["human 0"]
        assert await store.answer(again, 0, "new a")
        assert await store.room.fail(again, Settle.GIVE_UP) == "done"
        assert await store.job(lease.job) == ("done", 2)
        assert await store.standing(lease.job) == [(0, "a"), (1, "b")]
        await store.check()


async def test_an_earlier_conversation_of_malformed_turns_is_gone_back_to_all_the_same(tmp_path: Path) -> None:
    async with talks(tmp_path, 2) as store:
        (lease,) = await store.room.claim(await store.room.worker())
        for turn in range(2):
            response = await store.keep(lease, b'{"error": "busy', turn)
            store.bodies[response] = chat("why</think>because")  # what an older parser made of it
            assert await store.settle(response, lease, turn)
        settings = await dataset_of(store.room.store, "talks")
        asked = Reparse(settings, apply=True, allow_regression=True)
        assert (await reparse(store.room.store, asked, lambda _done, _all: None)).regressions == 2
        await store.retry("done")
        (again,) = await store.room.claim(await store.room.worker())
        assert await store.room.fail(again, Settle.GIVE_UP) == "done"
        row = await store.room.job(lease.job)
        assert (row.state, row.turn, row.verdict) == ("done", 2, "malformed")
        await store.check()


async def test_a_call_without_a_result_ends_a_conversation_early(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        worker = await store.room.worker()
        (lease,) = await store.room.claim(worker)
        call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        assert await store.answer(lease, 0, chat("why</think>", finish="tool_calls", tool_calls=[call]))
        row = await store.room.job(lease.job)
        assert (row.state, row.turn, row.turns) == ("done", 1, 3)
        await store.check()
