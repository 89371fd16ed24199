"""What the jobs of a store should look like, as a small model without a database."""

from dataclasses import dataclass, field

from app.model.limits import EXPIRIES_BEFORE_FAILED, EXPIRIES_BEFORE_REST, FIRST_REST_MS, LONGEST_WAIT_MS

MAX_ATTEMPTS = 3


@dataclass
class Job:
    """A job with what its attempts brought: the fate of each response by attempt."""

    id: int
    dataset: int
    state: str = "ready"
    attempt: int = 0
    tries: int = 0
    expiries: int = 0
    holder: int | None = None
    deadline_ms: int | None = None
    due_ms: int | None = None
    responses: dict[int, str] = field(default_factory=dict)  # unread, accepted, superseded, late or kept
    bodies: dict[int, str] = field(default_factory=dict)  # good or malformed

    def facts(self) -> tuple[object, ...]:
        return (
            self.state, self.attempt, self.tries, self.expiries, self.holder, self.deadline_ms, self.due_ms,
        )  # fmt: skip

    @property
    def unread(self) -> bool:
        return self.responses.get(self.attempt) == "unread"

    def move(self, state: str, due_ms: int | None = None) -> None:
        self.state, self.due_ms = state, due_ms
        self.holder = self.deadline_ms = None

    def take_out(self) -> None:
        """Cancelled: what it had accepted before a retry stands no longer."""
        self.move("cancelled")
        self.responses |= {attempt: "superseded" for attempt, fate in self.responses.items() if fate == "accepted"}

    def fail_for_good(self) -> None:
        """Failed, unless an answer can stand in: the accepted one, else the newest that was read."""
        readable = [
            attempt
            for attempt, fate in self.responses.items()
            if self.bodies[attempt] == "good" and fate in ("accepted", "late")
        ]
        if not readable:
            self.move("failed")
            return
        accepted = [attempt for attempt in readable if self.responses[attempt] == "accepted"]
        self.responses[max(accepted or readable)] = "accepted"
        self.move("done")

    def expire(self, now_ms: int) -> None:
        self.expiries += 1
        if self.expiries >= EXPIRIES_BEFORE_FAILED:
            self.fail_for_good()
        elif self.expiries >= EXPIRIES_BEFORE_REST:
            rest_ms = FIRST_REST_MS * 2 ** (self.expiries - EXPIRIES_BEFORE_REST)
            self.move("waiting", now_ms + min(rest_ms, LONGEST_WAIT_MS))
        else:
            self.move("ready")

    def fail(self, attempt: int, worker: int, settle_as: str, counted: bool, due_ms: int) -> str | None:
        """What `fail` should return."""
        if (self.state, self.attempt, self.holder) != ("leased", attempt, worker):
            return None
        self.tries += counted
        if settle_as == "release":
            self.move("ready")
        elif settle_as == "postpone" and not (counted and self.tries >= MAX_ATTEMPTS):
            self.move("waiting", due_ms)
        else:
            self.fail_for_good()
        return self.state

    def settle_good(self, attempt: int) -> bool:
        """Whether an unread good body should be accepted."""
        if self.responses[attempt] != "unread":
            return False
        if attempt != self.attempt or self.state in ("done", "cancelled"):
            self.responses[attempt] = "late"
            return False
        for other, fate in self.responses.items():
            if fate == "accepted":
                self.responses[other] = "superseded"
        self.responses[attempt] = "accepted"
        self.move("done")
        return True


@dataclass
class Dataset:
    """A dataset with its holds and its last turn."""

    id: int
    rank: int
    holds: set[str] = field(default_factory=set)
    claimed_ms: int = 0


@dataclass
class Model:
    """All of it, and the rule of a claim."""

    datasets: dict[int, Dataset]
    jobs: dict[int, Job]

    def claim(self, worker: int, slots: int, now_ms: int, deadline_ms: int) -> list[tuple[int, int]]:
        """The (job, attempt) pairs that a claim of a live worker should bring."""
        for job in self.jobs.values():
            if job.due_ms is not None and not now_ms < job.due_ms <= now_ms + LONGEST_WAIT_MS:
                job.move("ready")
        taken: list[tuple[int, int]] = []
        for dataset in sorted(self.datasets.values(), key=lambda one: (one.rank, one.claimed_ms, one.id)):
            ready = [job for job in self.jobs.values() if job.dataset == dataset.id and job.state == "ready"]
            offered = [job for job in ready if not job.unread][: slots - len(taken)]
            if dataset.holds or not offered:
                continue
            dataset.claimed_ms = max(now_ms, 1 + max(one.claimed_ms for one in self.datasets.values()))
            for job in offered:
                job.attempt += 1
                job.move("leased")
                job.holder, job.deadline_ms = worker, deadline_ms
                taken.append((job.id, job.attempt))
        return taken

    def expire(self, now_ms: int, *, holder: int | None = None) -> int:
        """Take the leases of a dead holder, or with none named those past their deadline; how many."""
        found = [job for job in self.jobs.values() if job.state == "leased" and not job.unread]
        if holder is not None:
            found = [job for job in found if job.holder == holder]
        else:
            found = [job for job in found if job.deadline_ms is not None and job.deadline_ms < now_ms]
        for job in found:
            job.expire(now_ms)
        return len(found)
