"""Whether the jobs of a dataset are all accounted for. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sums:
    """Numbers that come from different places and must agree."""

    total: int  # jobs by the order of import
    states: int  # jobs by the counters of states
    done: int  # of them: done
    verdicts: int  # done jobs by the counters of verdicts

    @property
    def add_up(self) -> bool:
        """Every job in exactly one state, and every done job with exactly one verdict."""
        return self.states == self.total and self.verdicts == self.done

    @property
    def mismatch(self) -> str | None:
        """What to say of them; None while they agree."""
        if self.add_up:
            return None
        return (
            f"The states add up to {self.states:,}, the order of import says {self.total:,}; {self.verdicts:,} "
            f"verdicts stand beside {self.done:,} done jobs. Stop the workers and run `thinkledger verify`."
        )
