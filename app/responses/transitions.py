"""What a reparse changes, counted: from which verdict to which, and what of it is worse than before."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from app.model.loss_flags import LossFlag
from app.model.verdicts import CAPTURED, Verdict

USABLE = CAPTURED | {Verdict.NONE_EXPECTED}  # what an export takes


@dataclass(frozen=True, slots=True, order=True)
class Transition:
    """From the verdict of the present reading to that of the new one; equal ones differ in texts or flags."""

    before: Verdict
    after: Verdict
    accepted: bool  # of the answer that stands for its job; others are superseded, late, or were no answer
    history: bool = False  # later turns of its conversation were asked after the present reading, which said otherwise

    @property
    def regression(self) -> bool:
        """Whether a job's answer would be worse: no answer any more, not exported any more, or without its thought.

        A conversation is not exported any more where later turns were asked after what the old reading says.
        """
        if self.accepted and self.history:
            return True
        if not self.accepted or self.before is self.after:
            return False
        lost = self.before in CAPTURED and self.after not in CAPTURED
        return lost or self.after is Verdict.MALFORMED or (self.before in USABLE and self.after not in USABLE)

    @property
    def remarks(self) -> list[str]:
        """What the two verdicts alone do not say."""
        found = [] if self.accepted else ["not the accepted answer"]
        found += ["other text or flags"] if self.before is self.after else []
        found += ["later turns were asked after the old text"] if self.history else []
        return found


@dataclass(slots=True)
class Report:
    """One dataset, read anew. `bodies` is the sum of unchanged, of all transitions, and of `overtaken`."""

    name: str
    applied: bool
    bodies: int = 0
    unchanged: int = 0
    transitions: Counter[Transition] = field(default_factory=Counter)
    flagged: Counter[LossFlag] = field(default_factory=Counter)  # bodies that hint at a loss now, and did not before
    cleared: Counter[LossFlag] = field(default_factory=Counter)  # the other way
    finished: int = 0  # jobs without an answer that a stored body finishes
    reopened: int = 0  # conversations that ended early by an answer that is read otherwise now
    kept: int = 0  # regressions that were not written
    overtaken: int = 0  # bodies that somebody else read anew, or removed, in the meantime

    @property
    def regressions(self) -> int:
        return sum(count for transition, count in self.transitions.items() if transition.regression)

    @property
    def changed(self) -> int:
        return self.transitions.total()

    @property
    def loss_flags(self) -> list[LossFlag]:
        """Those that some body has now, or had before."""
        return sorted(self.flagged | self.cleared)

    def count(self, transition: Transition, before: frozenset[LossFlag], after: frozenset[LossFlag]) -> None:
        """Count a body that is read differently, and what its loss flags were and are."""
        self.transitions[transition] += 1
        self.flagged.update(after - before)
        self.cleared.update(before - after)


def report_json(report: Report) -> dict[str, Any]:
    """A report for programs, under the names that the command and the dashboard share."""
    return {
        "bodies": report.bodies,
        "unchanged": report.unchanged,
        "transitions": [
            {"from": one.before, "to": one.after, "accepted": one.accepted, "regression": one.regression, "n": count}
            for one, count in report.transitions.most_common()
        ],
        "loss_flags": {
            flag: {"more": report.flagged[flag], "fewer": report.cleared[flag]} for flag in report.loss_flags
        },
        "regressions": report.regressions,
        "regressions_not_written": report.kept,
        "finished": report.finished,
        "reopened": report.reopened,
        "overtaken": report.overtaken,
    }
