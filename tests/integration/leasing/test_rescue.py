"""What becomes of leases whose holder died or overran its deadline."""

from pathlib import Path

import anyio
import pytest

from app.leasing.rescue import rescue_overdue
from app.leasing.workers import Leave, leave
from app.model.lease import Lease, Settle
from app.model.limits import EXPIRIES_BEFORE_FAILED, EXPIRIES_BEFORE_REST, FIRST_REST_MS, LONGEST_WAIT_MS
from app.responses.unread import load_bodies, orphaned
from tests.integration.leasing.kit import LEASE_MS, MALFORMED, Room, counters, in_room


async def expire(room: Room) -> Lease:
    """Let a new worker claim the one job and die."""
    dead, rescuer = await room.worker(), await room.worker()
    (lease,) = await room.claim(dead)
    assert (await room.rescue(dead, rescuer)).jobs == 1
    return lease


def test_what_a_dead_worker_held_is_offered_again_and_only_once(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 3)
        dead, rescuer, other = [await room.worker() for _ in range(3)]
        done, *_ = await room.claim(dead)
        assert await room.answer(done)
        first, second = await room.rescue(dead, rescuer), await room.rescue(dead, other)
        assert (first.jobs, first.failed, first.unread) == (2, 0, ())
        assert (second.jobs, second.failed, second.unread) == (0, 0, ())
        rows = await room.all("SELECT state, attempt, tries, expiries FROM job ORDER BY id")
        assert rows == [("done", 1, 0, 0), ("ready", 1, 0, 1), ("ready", 1, 0, 1)]
        assert await room.all("SELECT count(*) FROM event WHERE kind = 'worker_dead'") == [(1,)]

    in_room(tmp_path, work)


def test_a_rescue_takes_nothing_from_the_next_holder(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        dead, rescuer = await room.worker(), await room.worker()
        await room.claim(dead)
        await room.rescue(dead, rescuer)
        (lease,) = await room.claim(rescuer)
        assert (await room.rescue(dead, rescuer)).jobs == 0
        row = await room.job(lease.job)
        assert (row.state, row.lease_worker, row.attempt) == ("leased", rescuer, 2)

    in_room(tmp_path, work)


def test_from_the_third_expired_lease_on_a_job_rests_twice_as_long_each_time_and_fails_at_the_last(
    tmp_path: Path,
) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        for expired in range(1, EXPIRIES_BEFORE_FAILED + 1):
            lease = await expire(room)
            row = await room.job(lease.job)
            assert (row.attempt, row.expiries, row.tries) == (expired, expired, 0)
            if expired < EXPIRIES_BEFORE_REST:
                assert (row.state, row.due_ms) == ("ready", None)
            elif expired < EXPIRIES_BEFORE_FAILED:
                rest_ms = min(FIRST_REST_MS * 2 ** (expired - EXPIRIES_BEFORE_REST), LONGEST_WAIT_MS)
                assert (row.state, row.due_ms) == ("waiting", room.clock.ms + rest_ms)
                room.clock.ms += rest_ms
        assert (row.state, row.cause, row.due_ms, row.finished_ms) == (
            "failed", "kills_workers", None, room.clock.ms,
        )  # fmt: skip
        assert await counters(room) == {"state:failed": 1, "failed:kills_workers": 1}

    in_room(tmp_path, work)


def test_a_job_that_wears_out_is_done_where_an_earlier_answer_can_stand_in(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        old = await expire(room)
        await room.execute("UPDATE job SET expiries = 19")
        dead, rescuer = await room.worker(), await room.worker()
        await room.claim(dead)
        assert not await room.answer(old)
        found = await room.rescue(dead, rescuer)
        assert (found.jobs, found.failed) == (1, 0)
        row = await room.job(old.job)
        assert (row.state, row.verdict, row.expiries) == ("done", "split_from_content", 20)
        assert await room.responses(old.job) == {1: "accepted"}

    in_room(tmp_path, work)


@pytest.mark.parametrize("holder", ["live", "draining", "dead"])
def test_a_lease_past_its_deadline_is_taken_from_whoever_holds_it(tmp_path: Path, holder: str) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (lease,) = await room.claim(worker)
        if holder == "dead":
            await room.execute("UPDATE worker SET state = 'dead'")
        elif holder != "live":
            await room.store.write(leave, Leave(worker, holder))
        room.clock.ms += LEASE_MS
        assert await room.store.write(rescue_overdue, None) == 0
        room.clock.ms += 1
        assert await room.store.write(rescue_overdue, None) == 1
        assert await room.store.write(rescue_overdue, None) == 0
        row = await room.job(lease.job)
        assert (row.state, row.expiries, row.attempt) == ("ready", 1, 1)

    in_room(tmp_path, work)


def test_a_worker_that_stops_leaves_no_lease(tmp_path: Path) -> None:
    """A claim whose caller was cancelled is committed all the same; nobody else would look at its jobs for hours."""

    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        worker = await room.worker()
        leases = await room.claim(worker, 2)
        await room.store.write(leave, Leave(worker, "stopped"))
        rows = [await room.job(lease.job) for lease in leases]
        assert [(row.state, row.expiries, row.attempt) for row in rows] == [("ready", 0, 1)] * 2

    in_room(tmp_path, work)


def test_what_is_stored_and_unread_goes_to_the_rescuer_and_its_job_is_not_offered(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        dead, rescuer, other = [await room.worker() for _ in range(3)]
        kept, lost = await room.claim(dead)
        response = await room.keep(kept)
        found = await room.rescue(dead, rescuer)
        assert (found.jobs, found.unread) == (1, (response,))
        assert (await room.job(kept.job)).state == "leased"
        assert (await room.rescue(dead, other)).unread == ()
        assert [lease.job for lease in await room.claim(other)] == [lost.job]
        (body,) = await load_bodies(room.store, found.unread, rescuer)
        assert (body.body, body.lease.attempt, body.lease.worker) == (room.bodies[response], 1, dead)
        assert await room.settle(response, body.lease)
        assert (await room.job(kept.job)).state == "done"

    in_room(tmp_path, work)


def test_a_rescuer_that_dies_too_hands_on_what_it_took_over(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        dead, second, third = [await room.worker() for _ in range(3)]
        (lease,) = await room.claim(dead)
        response = await room.keep(lease)
        assert (await room.rescue(dead, second)).unread == (response,)
        assert await orphaned(room.store) == []
        assert (await room.rescue(second, third)).unread == (response,)
        await room.store.write(leave, Leave(third, "stopped"))
        assert await orphaned(room.store) == [response]
        assert await room.settle(response, lease)
        assert await orphaned(room.store) == []

    in_room(tmp_path, work)


def test_bodies_of_several_workers_in_one_group_stay_their_own(tmp_path: Path) -> None:
    """A rescue must find each worker's unread bodies under its own number."""

    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        leases = [(await room.claim(await room.worker(), 1))[0] for _ in range(2)]
        async with anyio.create_task_group() as tasks:
            for lease in leases:
                tasks.start_soon(room.keep, lease)
        rows = await room.all("SELECT job_id, worker_id FROM unread ORDER BY job_id")
        assert rows == [(lease.job, lease.worker) for lease in leases]
        assert (await room.rescue(leases[1].worker, leases[0].worker)).jobs == 0
        assert await room.all("SELECT count(DISTINCT worker_id) FROM unread") == [(1,)]

    in_room(tmp_path, work)


def test_a_malformed_body_of_a_dead_worker_moves_its_job_on(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        dead, rescuer = await room.worker(), await room.worker()
        (lease,) = await room.claim(dead)
        response = await room.keep(lease, MALFORMED)
        await room.rescue(dead, rescuer)
        assert not await room.settle(response, lease, room.failure(lease, Settle.POSTPONE))
        row = await room.job(lease.job)
        assert (row.state, row.tries, row.expiries) == ("waiting", 1, 0)

    in_room(tmp_path, work)
