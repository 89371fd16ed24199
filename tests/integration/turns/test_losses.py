"""Hints at lost text in conversations: a job has those of all its turns, whichever of them it speaks by."""

from pathlib import Path

import pytest

from app.leasing.datasets import dataset_of
from app.model.ids import JobId
from app.model.lease import Settle
from app.model.loss_flags import LossFlag, loaded
from app.responses.rereading import Reparse, reparse
from tests.integration.turns.kit import Talks, talks
from tests.support.filled import chat

pytestmark = pytest.mark.anyio

CUT = chat("\n\nwhat is left of the answer")
COUNTED = "SELECT metric, n FROM counter WHERE metric LIKE 'flag:%' AND n <> 0"


async def finished(store: Talks) -> JobId:
    """A conversation whose second turn begins as if its thought was cut off; both turns have lost it."""
    worker = await store.room.worker()
    (lease,) = await store.room.claim(worker)
    assert await store.answer(lease, 0, chat("no thought"))
    assert await store.answer(lease, 1, CUT)
    assert await store.answer(lease, 2, "c")
    return lease.job


async def test_a_turn_that_its_job_does_not_speak_by_is_flagged_and_counted(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        job = await store.room.job(await finished(store))
        assert (job.verdict, job.preview) == ("missing", "no thought")
        assert loaded(job.loss_flags) == {LossFlag.CUT_UPSTREAM}
        assert [tuple(row) for row in await store.room.all(COUNTED)] == [("flag:cut_upstream", 1)]
        await store.check()


async def test_a_retry_of_a_hint_begins_at_the_first_turn_that_has_it(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        job = await finished(store)
        await store.retry("done", flag=LossFlag.CUT_UPSTREAM)
        assert await store.job(job) == ("ready", 1)
        (again,) = await store.room.claim(await store.room.worker())
        assert await store.answer(again, 1, "b")
        assert await store.answer(again, 2, "c")
        assert (await store.room.job(job)).loss_flags is None
        assert [tuple(row) for row in await store.room.all(COUNTED)] == []
        await store.check()


async def test_a_retry_that_fails_for_good_brings_the_hints_back(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        job = await finished(store)
        await store.retry("done")
        (again,) = await store.room.claim(await store.room.worker())
        assert await store.answer(again, 0, "a")
        assert await store.room.fail(again, Settle.GIVE_UP) == "done"
        assert loaded((await store.room.job(job)).loss_flags) == {LossFlag.CUT_UPSTREAM}
        await store.check()


async def test_a_reparse_tells_a_conversation_of_the_hints_of_every_turn(tmp_path: Path) -> None:
    async with talks(tmp_path, 3) as store:
        job = await finished(store)
        await store.room.execute("UPDATE reading SET loss_flags = NULL")  # as a parser before it knew them
        await store.room.execute("UPDATE job SET loss_flags = NULL")
        settings = await dataset_of(store.room.store, "talks")
        report = await reparse(store.room.store, Reparse(settings, apply=True), lambda _done, _all: None)
        assert (report.changed, report.flagged) == (1, {LossFlag.CUT_UPSTREAM: 1})
        assert loaded((await store.room.job(job)).loss_flags) == {LossFlag.CUT_UPSTREAM}
        await store.check()
