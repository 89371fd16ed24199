"""How many jobs a run may settle (`--limit`), and how many it has. It outlives a registration."""

from dataclasses import dataclass

from app.model.states import JobState


@dataclass(slots=True)
class Quota:
    """Counts the jobs that came to an end in this run. `limit` None: as many as there are."""

    limit: int | None = None
    under_way: int = 0
    done: int = 0
    failed: int = 0

    def room(self, wanted: int) -> int:
        """How many of `wanted` more jobs may be asked; those under way count as if they came to an end."""
        if self.limit is None:
            return wanted
        return max(0, min(wanted, self.limit - self.done - self.failed - self.under_way))

    @property
    def used_up(self) -> bool:
        """Whether the run has settled what it may."""
        return self.limit is not None and self.done + self.failed >= self.limit

    def began(self) -> None:
        """A job is being asked."""
        self.under_way += 1

    def ended(self, state: JobState | None) -> None:
        """It moved to `state`; None: it was not ours any more, or nobody knows. Only done and failed are an end."""
        self.under_way -= 1
        if state is JobState.DONE:
            self.done += 1
        elif state is JobState.FAILED:
            self.failed += 1
