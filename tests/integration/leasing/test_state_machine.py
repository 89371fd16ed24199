"""The real store against a small model of it, through any order of what workers, their deaths and people do."""

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from app.leasing.holds import HoldKind, HoldRequest, LiftRequest, hold, lift
from app.leasing.release import release
from app.leasing.rescue import rescue_overdue
from app.leasing.settle import fail
from app.leasing.workers import renew
from app.model.ids import DatasetId, JobId, ResponseId, WorkerId
from app.model.lease import Lease, Settle
from app.model.states import MOVES, JobState
from app.store.codec import unpack
from tests.integration.leasing.kit import GOOD, LEASE_MS, MALFORMED, Room, in_room, open_room
from tests.integration.leasing.model import MAX_ATTEMPTS, Dataset, Job, Model
from tests.integration.store.kit import DEEP, examples
from tests.support.cancelling import cancel
from tests.support.filled import Clock

RANKS = (0, 0, 1)
JOBS_EACH = 1  # few jobs, so that their attempts and late answers meet often
BODIES = {"good": GOOD, "malformed": MALFORMED}
SETTLES = st.sampled_from(Settle)

# In one step a job may make several moves: a claim wakes what is due, and a job that fails may be promoted.
STEPS = {(state, after) for (state, _), after in MOVES.items()} | {(JobState.WAITING, JobState.LEASED)}


@cache
def _template() -> Path:
    """A store with the datasets of every example, made once."""
    folder = Path(tempfile.mkdtemp(prefix="leases-"))

    async def fill(room: Room) -> None:
        for number, rank in enumerate(RANKS):
            await room.dataset(f"d{number}", JOBS_EACH, rank, MAX_ATTEMPTS)

    in_room(folder, fill)
    return folder / "t.db"


class Leases(RuleBasedStateMachine):
    """Each rule does one thing to the store and to the model, and both must say the same."""

    workers = Bundle("workers")
    leases = Bundle("leases")
    bodies = Bundle("bodies")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="leases-")))
        self.lay(self.folder / "t.db")
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.clock = Clock()
        self.dead: set[int] = set()
        self.started = 0
        self.taken: list[Lease] = []
        self.model = Model(
            {number: Dataset(number, rank) for number, rank in enumerate(RANKS, 1)},
            {n: Job(n, (n - 1) // JOBS_EACH + 1) for n in range(1, len(RANKS) * JOBS_EACH + 1)},
        )
        self.before = {number: job.state for number, job in self.model.jobs.items()}
        self._open()

    def lay(self, path: Path) -> None:
        """A store of its own for the example."""
        shutil.copy(_template(), path)

    def _open(self) -> None:
        opening = self.portal.wrap_async_context_manager(open_room(self.folder / "t.db", self.clock))
        self.opened: AbstractContextManager[Room] = opening
        self.room = opening.__enter__()
        self.room.names = self.started

    def teardown(self) -> None:
        self.opened.__exit__(None, None, None)
        self.stack.close()

    def do(self, work: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        return self.portal.call(work, *args)

    def write(self, operation: Any, item: Any) -> Any:
        return self.portal.call(self.room.store.write, operation, item)

    # workers

    @initialize(target=workers)
    def first_workers(self) -> Any:
        return multiple(*(self._start() for _ in range(2)))

    @rule(target=workers)
    def start(self) -> WorkerId:
        return self._start()

    def _start(self) -> WorkerId:
        self.started += 1
        return self.do(self.room.worker)  # type: ignore[no-any-return]

    @rule(worker=workers)
    def beat(self, worker: WorkerId) -> None:
        assert self.write(renew, worker) is (worker not in self.dead)

    @rule(worker=workers, rescuer=workers)
    def die_and_be_rescued(self, worker: WorkerId, rescuer: WorkerId) -> None:
        """The second time there is nothing left to rescue, unless the dead was not quite dead."""
        if worker == rescuer:
            return
        self.dead.add(worker)
        expected = self.model.expire(self.clock.ms, holder=worker)
        found = self.do(self.room.rescue, worker, rescuer)
        assert found.jobs == expected

    @rule()
    def look_for_overdue(self) -> None:
        expected = self.model.expire(self.clock.ms)
        assert self.write(rescue_overdue, None) == expected

    # leases

    @rule(target=leases, worker=workers, slots=st.integers(1, 4))
    def claim(self, worker: WorkerId, slots: int) -> Any:
        expected: list[tuple[int, int]] = []
        if worker not in self.dead:
            expected = self.model.claim(worker, slots, self.clock.ms, self.clock.ms + LEASE_MS)
        else:
            self.model.claim(worker, 0, self.clock.ms, 0)  # what is due is woken all the same
        taken = self.do(self.room.claim, worker, slots)
        self.taken += taken
        assert [(lease.job, lease.attempt) for lease in taken] == expected
        return multiple(*taken)

    @rule(target=leases, worker=workers)
    def time_runs_out(self, worker: WorkerId) -> Any:
        """Every lease is past its deadline, and what they held goes to the next that asks."""
        self.clock_moves(LEASE_MS + 1)
        self.look_for_overdue()
        return self.claim(worker, 3)

    @rule(lease=leases)
    def give_back(self, lease: Lease) -> None:
        job = self.model.jobs[lease.job]
        ours = (job.state, job.attempt, job.holder) == ("leased", lease.attempt, lease.worker) and not job.unread
        if ours:
            job.move("ready")
        assert self.write(release, lease) is ours

    @rule(lease=leases, settle_as=SETTLES, counted=st.booleans(), wait_ms=st.sampled_from([1, 2000, 600_000]))
    def fail_without_a_body(self, lease: Lease, settle_as: Settle, counted: bool, wait_ms: int) -> None:
        job = self.model.jobs[lease.job]
        if job.responses.get(lease.attempt) == "unread":
            return  # a slot whose body is stored settles that body
        failure = self.room.failure(lease, settle_as, counted=counted, wait_ms=wait_ms)
        expected = job.fail(lease.attempt, lease.worker, settle_as, counted, self.clock.ms + wait_ms)
        assert self.write(fail, failure) == expected

    @rule(target=bodies, lease=leases, body=st.sampled_from(sorted(BODIES)))
    def keep(self, lease: Lease, body: str) -> tuple[ResponseId, Lease]:
        job = self.model.jobs[lease.job]
        if lease.attempt not in job.responses:
            job.responses[lease.attempt], job.bodies[lease.attempt] = "unread", body
        return self.do(self.room.keep, lease, BODIES[body]), lease

    @rule(kept=bodies, settle_as=SETTLES, counted=st.booleans())
    def read(self, kept: tuple[ResponseId, Lease], settle_as: Settle, counted: bool) -> None:
        self._read(*kept, settle_as, counted)

    def _overtaken(self) -> list[Lease]:
        """Leases of older attempts that have not answered yet."""
        jobs = self.model.jobs
        return [
            lease
            for lease in self.taken
            if lease.attempt < jobs[lease.job].attempt and lease.attempt not in jobs[lease.job].responses
        ]

    @precondition(lambda self: self._overtaken())
    @rule(data=st.data())
    def an_older_attempt_answers(self, data: st.DataObject) -> None:
        self.complete(data.draw(st.sampled_from(self._overtaken())))

    @precondition(lambda self: self._overtaken())
    @rule(data=st.data(), settle_as=SETTLES)
    def an_older_attempt_fails(self, data: st.DataObject, settle_as: Settle) -> None:
        lease = data.draw(st.sampled_from(self._overtaken()))
        self.fail_without_a_body(lease, settle_as, counted=True, wait_ms=1)

    @rule(lease=consumes(leases))
    def complete(self, lease: Lease) -> None:
        response, _ = self.keep(lease, "good")
        self._read(response, lease, Settle.POSTPONE, counted=True)
        self._read(response, lease, Settle.POSTPONE, counted=True)

    def _read(self, response: ResponseId, lease: Lease, settle_as: Settle, counted: bool) -> None:
        job = self.model.jobs[lease.job]
        unread = job.responses[lease.attempt] == "unread"
        if job.bodies[lease.attempt] == "good":
            expected = job.settle_good(lease.attempt)
            assert self.do(self.room.settle, response, lease) is expected
            return
        if unread:
            job.responses[lease.attempt] = "kept"
            job.fail(lease.attempt, lease.worker, settle_as, counted, self.clock.ms + 1000)
        failure = self.room.failure(lease, settle_as, counted=counted)
        assert self.do(self.room.settle, response, lease, failure) is False

    # people, clocks and restarts

    @rule(job=st.integers(1, len(RANKS) * JOBS_EACH))
    def cancel(self, job: int) -> None:
        possible = self.model.jobs[job].state not in ("done", "cancelled")
        if possible:
            self.model.jobs[job].take_out()
        assert self.write(cancel, JobId(job)) is possible

    @rule(job=st.integers(1, len(RANKS) * JOBS_EACH))
    def retry(self, job: int) -> None:
        """On a person's word; an earlier accepted answer stands until there is a new one."""
        if self.model.jobs[job].state not in ("done", "failed", "cancelled"):
            return
        self.model.jobs[job].move("ready")
        self.model.jobs[job].tries = self.model.jobs[job].expiries = 0
        self.do(self.room.execute, f"UPDATE job SET state = 'ready', tries = 0, expiries = 0 WHERE id = {job}")

    @rule(dataset=st.integers(1, len(RANKS)), kind=st.sampled_from(HoldKind))
    def hold(self, dataset: int, kind: HoldKind) -> None:
        new = kind not in self.model.datasets[dataset].holds
        self.model.datasets[dataset].holds.add(kind)
        assert self.write(hold, HoldRequest(DatasetId(dataset), kind, "words")) is new

    @rule(dataset=st.integers(1, len(RANKS)))
    def lift(self, dataset: int) -> None:
        holds = self.model.datasets[dataset].holds
        assert self.write(lift, LiftRequest(DatasetId(dataset))) == len(holds)
        holds.clear()

    @rule(by_ms=st.sampled_from([1, 1000, 20_000, 600_000, 3_600_000, -1, -600_000, -3_600_000]))
    def clock_moves(self, by_ms: int) -> None:
        self.clock.ms += by_ms

    @rule(job=st.integers(1, len(RANKS) * JOBS_EACH))
    def wear_out(self, job: int) -> None:
        """As if the job had outlived many workers, which takes too many steps to happen here."""
        if self.model.jobs[job].state == "leased":
            self.model.jobs[job].expiries = 19
            self.do(self.room.execute, f"UPDATE job SET expiries = 19 WHERE id = {job}")

    @rule()
    def restart(self) -> None:
        bodies = self.room.bodies
        self.opened.__exit__(None, None, None)
        self._open()
        self.room.bodies = bodies

    # what must hold after every step

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        found = self.do(self.room.facts)
        expected = {number: job.facts() for number, job in self.model.jobs.items()}
        assert found == expected

    @invariant()
    def only_moves_of_the_table_are_made(self) -> None:
        for number, job in self.model.jobs.items():
            before, self.before[number] = self.before[number], job.state
            assert before == job.state or (JobState(before), JobState(job.state)) in STEPS

    @invariant()
    def every_answer_has_the_fate_that_the_model_says(self) -> None:
        for number, job in self.model.jobs.items():
            found = self.do(self.room.responses, JobId(number))
            assert found == job.responses
            accepted = [fate for fate in found.values() if fate == "accepted"]
            assert len(accepted) == 1 or (job.state != "done" and not accepted)

    @invariant()
    def every_body_is_what_was_sent_and_done_jobs_show_their_readings(self) -> None:
        rows = self.do(self.room.all, "SELECT id, codec, raw, raw_sha256 FROM response JOIN body ON response_id = id")
        for number, codec, raw, sha256 in rows:
            assert unpack(codec, raw) == self.room.bodies[number]
            assert hashlib.sha256(self.room.bodies[number]).hexdigest() == sha256
        answers = self.do(
            self.room.all,
            "SELECT job.verdict = reading.verdict AND job.content_chars = reading.content_chars FROM job"
            " JOIN response ON response.job_id = job.id AND accepted_seq IS NOT NULL AND superseded_seq IS NULL"
            " JOIN reading ON reading.response_id = response.id WHERE job.state = 'done'",
        )
        done = sum(job.state == "done" for job in self.model.jobs.values())
        assert answers == [(1,)] * done

    @invariant()
    def counters_say_what_the_jobs_say(self) -> None:
        rows = self.do(self.room.all, "SELECT dataset_id, metric, n FROM counter WHERE n <> 0")
        kept = {(dataset, metric): n for dataset, metric, n in rows if metric.startswith("state:")}
        assert kept == Counter((job.dataset, f"state:{job.state}") for job in self.model.jobs.values())
        assert sum(kept.values()) == len(self.model.jobs)


TestLeases = pytest.mark.timeout(0 if DEEP else 600)(Leases.TestCase)  # a failure takes minutes to be made small
TestLeases.settings = settings(examples(25), stateful_step_count=50)
