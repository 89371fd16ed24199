"""A person asks again: the earlier answer stands until a new one is accepted, and nothing is deleted."""

from pathlib import Path
from typing import Any

import pytest

from app.leasing import retry as retrying
from app.leasing.datasets import dataset_of
from app.leasing.rescue import rescue_overdue
from app.leasing.retry import Kind, Retry, Selection, retry, select
from app.model.errors import UsageError
from app.model.ids import DatasetId, JobId
from app.model.lease import Cause, Lease, Settle
from app.model.loss_flags import LossFlag
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.responses.rereading import Reparse, reparse
from tests.integration.leasing.kit import GOOD, LEASE_MS, MALFORMED, Room, counters, in_room
from tests.support.filled import chat

CUT = chat("half a thought", finish="length")
TRUNCATED = Selection(verdicts=(Verdict.TRUNCATED,))
FAILED = Selection(states=(JobState.FAILED,))
DONE = Selection(states=(JobState.DONE,))


async def again(room: Room, dataset: DatasetId, selection: Selection, max_tokens: int | None = None) -> int:
    return await retry(room.store, Retry(dataset, selection, max_tokens), await select(room.store, dataset, selection))


async def truncated(room: Room) -> tuple[DatasetId, Any, Any]:
    """A dataset whose one job was done by an answer that was cut; with it the lease and a worker."""
    dataset = await room.dataset("a", 1)
    worker = await room.worker()
    (lease,) = await room.claim(worker)
    await room.settle(await room.keep(lease, CUT), lease)
    return dataset, lease, worker


async def facts(room: Room, job: JobId) -> tuple[Any, ...]:
    row = await room.job(job)
    return row.state, row.verdict, row.attempt, row.tries, row.expiries, row.cause


def test_a_new_answer_takes_the_place_of_the_earlier_one_which_is_kept(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset, lease, worker = await truncated(room)
        assert await again(room, dataset, TRUNCATED) == 1
        assert await facts(room, lease.job) == ("ready", "truncated", 1, 0, 0, None)
        assert await room.responses(lease.job) == {1: "accepted"}
        (second,) = await room.claim(worker)
        assert second.attempt == 2
        assert await room.answer(second)
        assert await facts(room, lease.job) == ("done", "split_from_content", 2, 0, 0, None)
        assert await room.responses(lease.job) == {1: "superseded", 2: "accepted"}
        assert await counters(room) == {"state:done": 1, "expected:split_from_content": 1, "tokens": 50}

    in_room(tmp_path, work)


def test_a_retry_that_fails_for_good_is_done_again_with_the_earlier_answer(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset, lease, worker = await truncated(room)
        before = await room.all("SELECT id, accepted_seq, superseded_seq FROM response")
        assert await again(room, dataset, TRUNCATED) == 1
        (second,) = await room.claim(worker)
        assert await room.fail(second, Settle.GIVE_UP) is JobState.DONE
        state, verdict, attempt, *_ = await facts(room, lease.job)
        assert (state, verdict, attempt) == ("done", "truncated", 2)
        assert await room.all("SELECT id, accepted_seq, superseded_seq FROM response") == before
        assert await counters(room) == {"state:done": 1, "expected:truncated": 1, "tokens": 50}

    in_room(tmp_path, work)


async def reread_as_none(room: Room, lease: Lease) -> None:
    """An answer that is accepted, and that a later parser takes for no answer."""
    response = await room.keep(lease, MALFORMED)
    room.bodies[response] = GOOD
    assert await room.settle(response, lease)
    settings = await dataset_of(room.store, "a")
    report = await reparse(room.store, Reparse(settings, apply=True, allow_regression=True), lambda _done, _all: None)
    assert report.regressions == 1


async def retried_beside_a_late_answer(room: Room) -> Lease:
    """The lease of a retry: what stands is read as malformed, and an answer that came late is readable."""
    dataset = await room.dataset("a", 1)
    first, second = await room.worker(), await room.worker()
    (late,) = await room.claim(first)
    await room.rescue(first, second)
    (lease,) = await room.claim(second)
    assert not await room.answer(late)
    await reread_as_none(room, lease)
    assert await again(room, dataset, DONE) == 1
    (lease,) = await room.claim(await room.worker())
    return lease


async def stands_still(room: Room, lease: Lease) -> None:
    """The job is done again with the answer that stood, and nothing else is accepted."""
    assert (await facts(room, lease.job))[:3] == ("done", "malformed", 3)
    assert await room.responses(lease.job) == {1: "late", 2: "accepted"}


def test_what_stands_is_gone_back_to_though_it_is_read_as_malformed_now(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset = await room.dataset("a", 1)
        worker = await room.worker()
        (lease,) = await room.claim(worker)
        await reread_as_none(room, lease)
        assert await again(room, dataset, DONE) == 1
        (second,) = await room.claim(worker)
        assert await room.fail(second, Settle.GIVE_UP) is JobState.DONE
        assert (await facts(room, lease.job))[:3] == ("done", "malformed", 2)
        assert await room.responses(lease.job) == {1: "accepted"}

    in_room(tmp_path, work)


def test_what_stands_goes_before_a_late_answer_however_either_is_read(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        lease = await retried_beside_a_late_answer(room)
        assert await room.fail(lease, Settle.GIVE_UP) is JobState.DONE
        await stands_still(room, lease)
        assert await counters(room) == {"state:done": 1, "late": 1, "expected:malformed": 1}

    in_room(tmp_path, work)


@pytest.mark.parametrize("overdue", [False, True])
def test_a_retry_that_wears_out_beside_a_late_answer_keeps_no_other_job_from_rescue(
    tmp_path: Path, overdue: bool
) -> None:
    async def work(room: Room) -> None:
        lease = await retried_beside_a_late_answer(room)
        await room.execute("UPDATE job SET expiries = 19")
        await room.dataset("b", 1)
        (other,) = await room.claim(lease.worker)
        if overdue:
            room.clock.ms += LEASE_MS + 1
            assert await room.store.write(rescue_overdue, None) == 2
        else:
            found = await room.rescue(lease.worker, await room.worker())
            assert (found.jobs, found.failed) == (2, 0)
        await stands_still(room, lease)
        assert (await room.job(other.job)).state == "ready"

    in_room(tmp_path, work)


def test_a_failed_job_starts_anew_but_for_its_fence(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset = await room.dataset("a", 2, max_attempts=1)
        worker = await room.worker()
        one, other = await room.claim(worker)
        assert await room.fail(one, counted=True) is JobState.FAILED
        assert await room.fail(other, Settle.GIVE_UP) is JobState.FAILED
        await room.execute("UPDATE job SET expiries = 2")
        rejected = Selection(causes=(Cause.REJECTED,))
        assert (await select(room.store, dataset, rejected)).kinds == {Kind(JobState.FAILED, "rejected"): 1}
        assert await again(room, dataset, rejected) == 1
        assert await facts(room, other.job) == ("ready", None, 1, 0, 0, None)
        assert (await facts(room, one.job))[:4] == ("failed", None, 1, 1)
        assert await again(room, dataset, FAILED) == 1
        assert await room.all("SELECT count(*) FROM failure") == [(2,)]
        assert await room.answer(one)  # an answer that comes after all: nobody has claimed since
        left = {"state:done": 1, "state:ready": 1, "expected:split_from_content": 1, "tokens": 50}
        assert await counters(room) == left

    in_room(tmp_path, work)


def test_a_lease_of_before_the_retry_cannot_finish_what_is_claimed_since(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset = await room.dataset("a", 1)
        worker = await room.worker()
        (old,) = await room.claim(worker)
        await room.fail(old, Settle.GIVE_UP)
        await again(room, dataset, FAILED)
        (new,) = await room.claim(await room.worker())
        assert not await room.answer(old)
        assert await room.answer(new)
        assert await room.responses(new.job) == {1: "late", 2: "accepted"}

    in_room(tmp_path, work)


def test_only_the_chosen_jobs_of_the_dataset_move_whatever_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "PAGE", 3)

    async def work(room: Room) -> None:
        dataset = await room.dataset("a", 10)
        await room.dataset("b", 4)
        worker = await room.worker()
        for place, lease in enumerate(await room.claim(worker)):
            body = CUT if place % 2 == 0 else chat("thought</think>answer")
            await room.settle(await room.keep(lease, body), lease)
        selected = await select(room.store, dataset, TRUNCATED)
        assert (selected.jobs, selected.kinds) == (5, {Kind(JobState.DONE, "truncated"): 5})
        assert await again(room, dataset, TRUNCATED, max_tokens=9) == 5
        counted = "SELECT d.name, state, params, count(*) FROM job JOIN dataset d ON d.id = dataset_id"
        assert await room.all(f"{counted} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3") == [
            ("a", "done", None, 5),
            ("a", "ready", '{"max_tokens": 9}', 5),
            ("b", "done", None, 4),
        ]
        assert await again(room, dataset, TRUNCATED) == 0
        assert await room.all("SELECT kind, detail FROM event WHERE kind = 'retried'") == [
            ("retried", '{"jobs": 5, "chosen": "truncated"}')
        ]

    in_room(tmp_path, work)


def test_a_selection_must_be_one() -> None:
    for wrong in (
        {},
        {"states": (JobState.READY,)},
        {"states": (JobState.FAILED,), "verdicts": (Verdict.MISSING,)},
        {"verdicts": (Verdict.MISSING,), "causes": (Cause.REJECTED,)},
    ):
        with pytest.raises(UsageError):
            Selection(**wrong)  # type: ignore[arg-type]


def test_jobs_are_chosen_by_what_hints_at_lost_text(tmp_path: Path) -> None:
    async def work(room: Room) -> None:
        dataset = await room.dataset("a", 4)
        worker = await room.worker()
        bodies = (chat("\n\na"), chat("\n\na", counted=90), chat("whole"), chat("short", counted=90))
        leases = await room.claim(worker, 4)
        for lease, body in zip(leases, bodies, strict=True):
            await room.settle(await room.keep(lease, body), lease)
        cut, short = Selection(flag=LossFlag.CUT_UPSTREAM), Selection(flag=LossFlag.TEXT_SHORT)
        assert [(await select(room.store, dataset, one)).jobs for one in (cut, short)] == [2, 2]
        assert await again(room, dataset, cut) == 2
        assert [(await room.job(lease.job)).state for lease in leases] == ["ready", "ready", "done", "done"]
        assert await room.all("SELECT metric, n FROM counter WHERE metric LIKE 'flag:%' AND n <> 0 ORDER BY 1") == [
            ("flag:text_short_for_tokens", 1)
        ]

    in_room(tmp_path, work)
