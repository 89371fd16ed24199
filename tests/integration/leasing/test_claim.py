"""What a claim offers, in which order, and what it never offers."""

from pathlib import Path

import anyio
import pytest

from app.leasing.claim import prompts_of
from app.leasing.holds import HoldKind, HoldRequest, LiftRequest, hold, lift
from app.leasing.release import release
from app.leasing.workers import Leave, leave, open_workers, renew
from app.model.lease import Lease, Settle
from app.model.limits import LONGEST_WAIT_MS
from tests.integration.leasing.kit import LEASE_MS, MALFORMED, Room, counters, in_room


def names(leases: list[Lease]) -> list[int]:
    return [lease.job for lease in leases]


def test_a_claim_takes_the_first_jobs_and_raises_their_attempts(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 3)
        worker = await room.worker()
        leases = await room.claim(worker, 2)
        assert names(leases) == [1, 2]
        assert {(lease.attempt, lease.worker, lease.epoch, lease.tries) for lease in leases} == {(1, worker, 0, 0)}
        row = await room.job(leases[0].job)
        assert (row.state, row.attempt, row.lease_worker) == ("leased", 1, worker)
        assert row.lease_deadline_ms == leases[0].deadline_ms == room.clock.ms + LEASE_MS
        assert names(await room.claim(worker)) == [3]
        assert await room.claim(worker) == []
        assert await counters(room) == {"state:leased": 3}

    in_room(tmp_path, work)


def test_a_job_of_lower_rank_goes_first(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 4)
        await room.execute("UPDATE job SET rank = 5 - id WHERE id < 4")
        worker = await room.worker()
        assert [names(await room.claim(worker, 1)) for _ in range(4)] == [[4], [3], [2], [1]]

    in_room(tmp_path, work)


def test_a_dataset_of_lower_rank_goes_first_and_the_next_fills_what_is_left(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("late", 2, rank=5)
        await room.dataset("soon", 2, rank=-1)
        worker = await room.worker()
        assert names(await room.claim(worker, 1)) == [3]
        assert names(await room.claim(worker, 2)) == [4, 1]

    in_room(tmp_path, work)


@pytest.mark.parametrize("drift_ms", [0, 1000, -3_600_000], ids=["still", "running", "jumping back"])
def test_datasets_of_equal_rank_take_turns_whatever_the_clock_does(tmp_path: Path, drift_ms: int) -> None:
    async def work(room: Room) -> None:
        first, second, third = [await room.dataset(name, 10) for name in "abc"]
        worker = await room.worker()
        turns = []
        for _ in range(9):
            turns += [lease.dataset for lease in await room.claim(worker, 1)]
            room.clock.ms += drift_ms
        assert turns == [first, second, third] * 3

    in_room(tmp_path, work)


def test_only_wanted_datasets_are_claimed_from(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        for name in "abc":
            await room.dataset(name, 1)
        assert names(await room.claim(await room.worker(), 9, "a", "c", "unknown")) == [1, 3]

    in_room(tmp_path, work)


def test_a_held_dataset_gives_nothing_until_every_hold_is_lifted(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        held, _free = await room.dataset("held", 2), await room.dataset("free", 1)
        worker = await room.worker()
        assert await room.store.write(hold, HoldRequest(held, HoldKind.PERSON, "lunch"))
        assert await room.store.write(hold, HoldRequest(held, HoldKind.GATE, "0 of 20 captured"))
        assert not await room.store.write(hold, HoldRequest(held, HoldKind.GATE, "another reason"))
        assert names(await room.claim(worker)) == [3]
        assert await room.store.write(lift, LiftRequest(held, (HoldKind.PERSON,))) == 1
        assert await room.claim(worker) == []
        assert await room.store.write(lift, LiftRequest(held)) == 1
        assert names(await room.claim(worker)) == [1, 2]

    in_room(tmp_path, work)


def test_a_hold_and_a_claim_in_one_group_offer_nothing(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset, worker = await room.dataset("a", 5), await room.worker()
        leases: list[list[Lease]] = []

        async def claims() -> None:
            leases.append(await room.claim(worker))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(room.store.write, hold, HoldRequest(dataset, HoldKind.ALARM, "x"))
            tasks.start_soon(claims)
        assert leases == [[]]

    in_room(tmp_path, work)


@pytest.mark.parametrize("state", ["draining", "stopped", "dead"])
def test_a_worker_that_is_not_live_claims_nothing(tmp_path: Path, state: str) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker, other = await room.worker(), await room.worker()
        if state == "dead":
            await room.rescue(worker, other)
        else:
            assert await room.store.write(leave, Leave(worker, state))
        assert await room.claim(worker) == []
        assert await room.store.write(renew, worker) is (state == "draining")
        assert names(await room.claim(other)) == [1]

    in_room(tmp_path, work)


def test_a_beat_counts_only_for_a_worker_that_nobody_declared_dead(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        worker, other = await room.worker(), await room.worker()
        assert await room.store.write(renew, worker)
        assert {found.id: found.beat for found in await open_workers(room.store)} == {worker: 1, other: 0}
        await room.rescue(worker, other)
        assert [found.id for found in await open_workers(room.store)] == [other]
        assert not await room.store.write(leave, Leave(worker, "stopped"))

    in_room(tmp_path, work)


def test_a_job_whose_newest_body_is_unread_is_not_offered(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker, other = await room.worker(), await room.worker()
        (lease,) = await room.claim(worker)
        await room.execute("UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL")
        response = await room.keep(lease)
        assert await room.claim(other) == []
        assert await room.settle(response, lease)
        assert (await room.job(lease.job)).state == "done"

    in_room(tmp_path, work)


def test_an_unread_body_of_an_older_attempt_holds_nothing_up(tmp_path: Path) -> None:
    """Neither the claim, nor the release, nor the rescue of the newer attempt waits for somebody's late answer."""

    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        slow, second, third = [await room.worker() for _ in range(3)]
        (old,) = await room.claim(slow)
        await room.rescue(slow, second)
        (newer,) = await room.claim(second)
        response = await room.keep(old)
        assert await room.store.write(release, newer)
        (again,) = await room.claim(second)
        assert (await room.rescue(second, third)).jobs == 1
        (last,) = await room.claim(third)
        assert (old.attempt, newer.attempt, again.attempt, last.attempt) == (1, 2, 3, 4)
        assert not await room.settle(response, old)
        assert await room.answer(last)
        assert await room.responses(last.job) == {1: "late", 4: "accepted"}

    in_room(tmp_path, work)


def test_a_postponed_job_is_offered_when_it_is_due_and_not_before(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (lease,) = await room.claim(worker)
        assert await room.fail(lease, Settle.POSTPONE, counted=False, wait_ms=5000) == "waiting"
        room.clock.ms += 4999
        assert await room.claim(worker) == []
        assert (await room.job(lease.job)).state == "waiting"
        room.clock.ms += 1
        (again,) = await room.claim(worker)
        assert (again.attempt, again.tries) == (2, 0)

    in_room(tmp_path, work)


@pytest.mark.parametrize(("back_ms", "offered"), [(0, 0), (1, 1), (3_600_000, 1)])
def test_a_due_time_that_only_a_jumped_clock_can_have_set_counts_as_due(
    tmp_path: Path, back_ms: int, offered: int
) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (lease,) = await room.claim(worker)
        await room.fail(lease, wait_ms=LONGEST_WAIT_MS)
        room.clock.ms -= back_ms
        assert len(await room.claim(worker)) == offered

    in_room(tmp_path, work)


def test_more_waiting_jobs_than_one_statement_wakes_are_all_woken_in_the_end(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1500)
        await room.execute(f"UPDATE job SET state = 'waiting', due_ms = {room.clock.ms}")
        worker = await room.worker()
        sizes = [len(await room.claim(worker, 2000)) for _ in range(3)]
        assert sum(sizes) == 1500
        assert sizes[0] > 0

    in_room(tmp_path, work)


def test_a_lease_given_back_counts_nowhere_and_only_once(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        worker = await room.worker()
        one, two = await room.claim(worker)
        assert [await room.store.write(release, one) for _ in range(2)] == [True, False]
        row = await room.job(one.job)
        assert (row.state, row.attempt, row.tries, row.expiries) == ("ready", 1, 0, 0)
        (again,) = await room.claim(worker)
        assert not await room.store.write(release, one)
        assert (await room.job(again.job)).lease_worker == worker
        await room.keep(two, MALFORMED)
        assert not await room.store.write(release, two)  # its body is here and will be read

    in_room(tmp_path, work)


def test_the_prompt_of_a_lease_is_that_of_its_sample(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 2)
        leases = await room.claim(await room.worker())
        prompts = await prompts_of(room.store, leases)
        assert [prompts[lease.job].sample_id for lease in leases] == ["s1", "s2"]
        assert await prompts_of(room.store, []) == {}

    in_room(tmp_path, work)
