"""What a conversation should look like, as a small model without a database."""

from dataclasses import dataclass, field

from app.model.lease import Lease
from app.model.limits import EXPIRIES_BEFORE_REST


@dataclass
class Talk:
    """A conversation: the answers that it goes on from, and those that are accepted."""

    number: int
    turns: int
    state: str = "ready"
    attempt: int = 0
    holder: int | None = None
    expiries: int = 0
    answers: list[str] = field(default_factory=list)
    standing: list[str] = field(default_factory=list)
    answered: set[tuple[int, int]] = field(default_factory=set)  # attempts and turns: each has one body at most

    @property
    def turn(self) -> int:
        return len(self.answers)

    def history(self) -> list[str]:
        """What is sent for the next turn."""
        said = [words for turn, answer in enumerate(self.answers) for words in (f"human {turn}", answer)]
        return [*said, f"human {self.turn}"]

    def is_held(self, lease: Lease) -> bool:
        return (self.state, self.attempt, self.holder) == ("leased", lease.attempt, lease.worker)

    def is_behind(self, lease: Lease) -> bool:
        """Whether the turn before the next was answered by another attempt than this one."""
        return self.turn > 0 and (lease.attempt, self.turn - 1) not in self.answered

    def move(self, state: str) -> None:
        self.state, self.holder = state, None

    def claim(self, worker: int) -> bool:
        """Whether a claim brings it; what waits is due by then."""
        if self.state not in ("ready", "waiting"):
            return False
        self.move("leased")
        self.attempt, self.holder = self.attempt + 1, worker
        return True

    def answer(self, lease: Lease, said: str, *, holds: bool) -> bool:
        """Whether an answer to the next turn is taken."""
        self.answered.add((lease.attempt, self.turn))
        free = self.state in ("ready", "waiting", "failed")
        if lease.attempt != self.attempt or not (free or self.is_held(lease)):
            return False
        self.answers.append(said)
        self.expiries = 0
        if self.turn == self.turns:
            self.standing = list(self.answers)
            self.move("done")
        elif not (self.is_held(lease) and holds):
            self.move("ready")
        return True

    def fail(self, lease: Lease, settle_as: str) -> str | None:
        """Its state after a failure; None where the lease was lost before. An earlier whole conversation stands in."""
        if not self.is_held(lease):
            return None
        if settle_as != "give_up":
            self.move("ready" if settle_as == "release" else "waiting")
        elif self.standing:
            self.answers = list(self.standing)
            self.move("done")
        else:
            self.move("failed")
        return self.state

    def expire(self) -> bool:
        """Its holder died."""
        self.expiries += 1
        self.move("waiting" if self.expiries >= EXPIRIES_BEFORE_REST else "ready")
        return True

    def retry(self) -> None:
        """It begins anew; one that never came to its end goes on where it was."""
        self.expiries = 0
        if self.state == "done":
            self.answers = []
        self.move("ready")
