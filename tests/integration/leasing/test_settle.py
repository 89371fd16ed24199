"""Which answers count, and which are kept as late."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from app.leasing.release import release
from app.model.lease import Settle
from app.store.codec import unpack
from tests.integration.leasing.kit import GOOD, Room, counters, in_room
from tests.support.cancelling import cancel
from tests.support.filled import chat


def test_an_accepted_answer_finishes_its_job_with_the_facts_of_its_reading(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        assert await room.answer(lease)
        row = await room.job(lease.job)
        assert (row.state, row.verdict, row.expected, row.finish_reason) == ("done", "split_from_content", 1, "stop")
        assert (row.reasoning_chars, row.content_chars, row.completion_tokens, row.preview) == (7, 6, 50, "answer")
        assert (row.lease_worker, row.lease_deadline_ms, row.due_ms) == (None, None, None)
        assert await counters(room) == {"state:done": 1, "expected:split_from_content": 1, "tokens": 50}
        ((codec, raw),) = await room.all("SELECT codec, raw FROM answer")
        assert unpack(codec, raw) == GOOD

    in_room(tmp_path, work)


def test_a_repeated_completion_changes_nothing(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        response = await room.keep(lease)
        assert await room.keep(lease, chat("another</think>text")) == response
        assert await room.settle(response, lease)
        before = await room.all("SELECT * FROM job"), await room.all("SELECT * FROM response"), await counters(room)
        assert await room.keep(lease) == response
        assert not await room.settle(response, lease)
        after = await room.all("SELECT * FROM job"), await room.all("SELECT * FROM response"), await counters(room)
        assert after == before
        assert await room.all("SELECT count(*) FROM reading") == [(1,)]

    in_room(tmp_path, work)


def test_an_answer_of_an_older_attempt_is_kept_as_late_and_the_newest_wins(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        slow, quick = await room.worker(), await room.worker()
        (old,) = await room.claim(slow)
        await room.rescue(slow, quick)
        (newest,) = await room.claim(quick)
        assert not await room.answer(old)
        assert (await room.job(old.job)).state == "leased"
        assert await room.answer(newest)
        assert await room.responses(old.job) == {1: "late", 2: "accepted"}
        assert (await counters(room))["late"] == 1

    in_room(tmp_path, work)


@pytest.mark.parametrize("since", ["leased", "ready", "waiting", "failed"])
def test_the_attempt_is_the_fence_even_for_the_same_worker(tmp_path: Path, since: str) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker, other = await room.worker(), await room.worker()
        (old,) = await room.claim(worker)
        assert await room.store.write(release, old)
        (newer,) = await room.claim(worker)
        if since == "ready":
            await room.rescue(worker, other)
        elif since != "leased":
            await room.fail(newer, Settle.POSTPONE if since == "waiting" else Settle.GIVE_UP)
        before = await room.job(old.job)
        assert before.state == since
        assert await room.fail(old, Settle.GIVE_UP) is None
        assert not await room.store.write(release, old)
        assert not await room.answer(old)
        assert await room.job(old.job) == before
        assert await room.responses(old.job) == {1: "late"}

    in_room(tmp_path, work)


def test_two_answers_of_one_job_in_one_group_are_one_accepted_and_one_late(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        slow, quick = await room.worker(), await room.worker()
        (old,) = await room.claim(slow)
        await room.rescue(slow, quick)
        (newest,) = await room.claim(quick)
        responses = [(await room.keep(lease), lease) for lease in (old, newest)]
        seq = await room.store.seq()
        outcome: dict[int, bool] = {}

        async def one(place: int) -> None:
            outcome[place] = await room.settle(*responses[place])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, 0)
            tasks.start_soon(one, 1)
        assert outcome == {0: False, 1: True}
        assert await room.store.seq() == seq + 1  # one transaction: neither was refused and tried again by itself
        assert await room.responses(old.job) == {1: "late", 2: "accepted"}

    in_room(tmp_path, work)


@pytest.mark.parametrize("state", ["ready", "waiting", "failed", "done", "cancelled"])
def test_an_answer_of_the_newest_attempt_is_taken_from_every_state_but_two(tmp_path: Path, state: str) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker, other = await room.worker(), await room.worker()
        (lease,) = await room.claim(worker)
        moves = {
            "ready": lambda: room.rescue(worker, other),
            "waiting": lambda: room.fail(lease),
            "failed": lambda: room.fail(lease, Settle.GIVE_UP),
            "cancelled": lambda: room.store.write(cancel, lease.job),
            "done": lambda: room.answer(lease),
        }
        await moves[state]()
        if state == "done":
            await room.execute("UPDATE response SET attempt = 0")  # so that the same attempt can answer again
        assert (await room.job(lease.job)).state == state
        taken = state not in ("done", "cancelled")
        assert await room.answer(lease) is taken
        assert (await room.job(lease.job)).state == ("done" if taken else state)
        assert (await room.responses(lease.job))[1] == ("accepted" if taken else "late")
        row = await room.job(lease.job)
        assert (row.due_ms, row.lease_worker) == (None, None)
        assert (row.cause is None) or not taken

    in_room(tmp_path, work)


def test_only_the_holder_finishes_a_leased_job(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker, other = await room.worker(), await room.worker()
        (lease,) = await room.claim(worker)
        forged = replace(lease, worker=other)
        assert await room.fail(forged, Settle.GIVE_UP) is None
        assert not await room.store.write(release, forged)
        assert not await room.settle(await room.keep(forged), forged)
        assert (await room.job(lease.job)).state == "leased"

    in_room(tmp_path, work)
