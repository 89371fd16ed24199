"""Where failures take a job, and what stands in for the answer that could not be had."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app.model.errors import ThinkledgerError
from app.model.lease import Settle
from tests.integration.leasing.kit import MALFORMED, Room, counters, in_room
from tests.support.cancelling import cancel
from tests.support.filled import chat

RETRY = "UPDATE job SET state = 'ready', tries = 0, expiries = 0, due_ms = NULL"  # what a person's retry does


@pytest.mark.parametrize(("counted", "wanted"), [(True, ["waiting", "waiting", "failed"]), (False, ["waiting"] * 6)])
def test_only_counted_failures_use_up_the_attempts(tmp_path: Path, counted: bool, wanted: list[str]) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1, max_attempts=3)
        worker = await room.worker()
        for number, state in enumerate(wanted, 1):
            (lease,) = await room.claim(worker)
            assert await room.fail(lease, counted=counted) == state
            row = await room.job(lease.job)
            assert (row.state, row.attempt, row.tries) == (state, number, number if counted else 0)
            assert (row.due_ms is None) is (state == "failed")
            room.clock.ms += 1000
        assert await room.all("SELECT count(*), sum(counted) FROM failure") == [(len(wanted), len(wanted) * counted)]

    in_room(tmp_path, work)


@pytest.mark.parametrize(
    ("settle_as", "state"), [(Settle.RELEASE, "ready"), (Settle.POSTPONE, "waiting"), (Settle.GIVE_UP, "failed")]
)
def test_a_failure_takes_its_job_where_it_was_decided(tmp_path: Path, settle_as: Settle, state: str) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        assert await room.fail(lease, settle_as, counted=False) == state
        assert await room.fail(lease, settle_as, counted=False) is None  # it is nobody's by now
        row = await room.job(lease.job)
        assert (row.state, row.tries, row.cause is not None) == (state, 0, True)
        assert (row.finished_ms is not None) is (state == "failed")

    in_room(tmp_path, work)


def test_a_failure_that_comes_after_the_next_claim_moves_nothing_and_is_kept(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        slow, quick = await room.worker(), await room.worker()
        (old,) = await room.claim(slow)
        await room.rescue(slow, quick)
        (newest,) = await room.claim(quick)
        assert await room.fail(old, Settle.GIVE_UP) is None
        assert (await room.job(newest.job)).lease_worker == quick
        assert await room.all("SELECT attempt FROM failure") == [(1,)]
        assert await room.answer(newest)
        assert await room.fail(newest, Settle.GIVE_UP) is None
        assert (await room.job(newest.job)).state == "done"

    in_room(tmp_path, work)


def test_before_a_job_fails_its_newest_readable_answer_stands_in(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        workers = [await room.worker() for _ in range(4)]
        leases = []
        for worker, rescuer in pairwise(workers):
            leases += await room.claim(worker)
            await room.rescue(worker, rescuer)
        room.clock.ms += 600_000
        leases += await room.claim(workers[3])
        for lease, words in zip(leases[:2], ("one", "two"), strict=True):
            assert not await room.settle(await room.keep(lease, chat(f"t</think>{words}")), lease)
        malformed = await room.keep(leases[2], MALFORMED)
        await room.settle(malformed, leases[2], room.failure(leases[2], Settle.GIVE_UP))
        assert await room.fail(leases[3], Settle.GIVE_UP) == "done"
        row = await room.job(leases[0].job)
        assert (row.state, row.verdict, row.preview) == ("done", "split_from_content", "two")
        assert {k: v for k, v in (await room.responses(row.id)).items() if v == "accepted"} == {2: "accepted"}

    in_room(tmp_path, work)


def test_a_retry_that_fails_for_good_is_done_again_with_the_earlier_answer(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (first,) = await room.claim(worker)
        assert await room.settle(await room.keep(first, chat("t</think>first")), first)
        await room.execute(RETRY)
        (second,) = await room.claim(worker)
        assert await room.fail(second, Settle.GIVE_UP) == "done"
        row = await room.job(first.job)
        assert (row.attempt, row.preview) == (2, "first")
        assert await room.responses(first.job) == {1: "accepted"}

    in_room(tmp_path, work)


def test_a_retry_that_succeeds_supersedes_the_earlier_answer(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (first,) = await room.claim(worker)
        assert await room.answer(first)
        await room.execute(RETRY)
        (second,) = await room.claim(worker)
        assert await room.responses(first.job) == {1: "accepted"}
        assert await room.settle(await room.keep(second, chat("t</think>second")), second)
        assert await room.responses(first.job) == {1: "superseded", 2: "accepted"}
        ((old, new),) = await room.all(
            "SELECT a.superseded_seq, b.accepted_seq FROM response a JOIN response b ON a.attempt = 1 AND b.attempt = 2"
        )
        assert old == new  # at no moment two, at no moment none
        assert (await room.job(first.job)).preview == "second"

    in_room(tmp_path, work)


def test_a_malformed_answer_is_kept_with_its_failure(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        response = await room.keep(lease, MALFORMED)
        failure = replace(room.failure(lease, Settle.POSTPONE), response_stored=True)
        assert not await room.settle(response, lease, failure)
        assert not await room.settle(response, lease, failure)
        assert (await room.job(lease.job)).state == "waiting"
        assert await room.all("SELECT response_id, body FROM failure") == [(response, None)]
        assert await room.all("SELECT verdict FROM reading") == [("malformed",)]

    in_room(tmp_path, work)


def test_a_done_job_is_not_cancelled_and_a_cancelled_one_is_not_claimed(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 3)
        worker = await room.worker()
        done, leased = await room.claim(worker, 2)
        assert await room.answer(done)
        assert [await room.store.write(cancel, job) for job in (done.job, leased.job, 3)] == [False, True, True]
        assert await room.claim(worker) == []
        assert await room.fail(leased) is None
        assert not await room.answer(leased)
        assert await room.responses(leased.job) == {1: "late"}
        assert await counters(room) | {"tokens": 0} == {
            "state:done": 1, "state:cancelled": 2, "expected:split_from_content": 1, "late": 1, "tokens": 0,
        }  # fmt: skip

    in_room(tmp_path, work)


def test_a_job_that_is_retried_and_then_cancelled_has_no_answer(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        assert await room.answer(lease)
        await room.execute("UPDATE job SET state = 'ready'")
        assert await room.all("SELECT sample_id FROM answer") == [("s1",)]
        assert await room.store.write(cancel, lease.job)
        assert await room.all("SELECT sample_id FROM answer") == []
        assert await room.responses(lease.job) == {1: "superseded"}
        assert await room.all("SELECT superseded_seq = (SELECT seq FROM meta) FROM response") == [(1,)]

    in_room(tmp_path, work)


def test_a_job_that_an_earlier_answer_finishes_keeps_no_cause(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        worker = await room.worker()
        (lease,) = await room.claim(worker)
        assert await room.answer(lease)
        await room.execute("UPDATE job SET state = 'ready'")
        (again,) = await room.claim(worker)
        assert await room.fail(again, Settle.GIVE_UP) == "done"
        assert (await room.job(lease.job)).cause is None

    in_room(tmp_path, work)


def test_a_done_job_says_whether_thinking_was_expected(tmp_path: Path) -> None:
    """Without that it would count as expected and as unexpected in no sum."""

    async def work(room: Room) -> None:
        await room.dataset("a", 1)
        (lease,) = await room.claim(await room.worker())
        assert await room.answer(lease)
        with pytest.raises(ThinkledgerError, match="done_has_a_verdict"):
            await room.execute("UPDATE job SET expected = NULL")

    in_room(tmp_path, work)


def test_counts_that_no_server_can_mean_do_not_break_the_sums(tmp_path: Path) -> None:
    """Two answers that claim 2**62 tokens each would overflow the counter, and no answer could be stored after them."""

    async def work(room: Room) -> None:
        await room.dataset("a", 4)
        for lease in await room.claim(await room.worker()):
            body = chat("t</think>a").replace(b'"completion_tokens": 50', b'"completion_tokens": %d' % (2**63 - 1))
            assert await room.settle(await room.keep(lease, body), lease)
        assert await counters(room) == {
            "state:done": 4, "expected:split_from_content": 4, "flag:text_short_for_tokens": 4,
        }  # fmt: skip
        assert f'"completion_tokens": {2**63 - 1}' in (await room.all("SELECT usage FROM reading"))[0][0]

    in_room(tmp_path, work)
