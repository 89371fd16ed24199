"""What a reading may say about an answer, and the capture rate made of it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The judgement of one reading; its text is stored and shown as it stands here."""

    CAPTURED_FIELD = "captured_field"  # the server put the reasoning in a field of its own
    SPLIT_FROM_CONTENT = "split_from_content"  # we cut it out of content, byte-exact
    NONE_EXPECTED = "none_expected"  # thinking was switched off, and there is none
    MISSING = "missing"  # thinking was expected, and there is none
    TRUNCATED = "truncated"  # the token limit came before the answer
    LEAKED = "leaked"  # reasoning and content are mixed up
    MALFORMED = "malformed"  # no answer at all: an error, a cut body, an abort


CAPTURED = frozenset({Verdict.CAPTURED_FIELD, Verdict.SPLIT_FROM_CONTENT})
GRADED = CAPTURED | {Verdict.MISSING, Verdict.LEAKED}

# Of a job with several turns the worst verdict is shown: the first of these that any turn has.
WORST_FIRST = (
    Verdict.MISSING,
    Verdict.LEAKED,
    Verdict.TRUNCATED,
    Verdict.NONE_EXPECTED,
    Verdict.SPLIT_FROM_CONTENT,
    Verdict.CAPTURED_FIELD,
)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A share that is never shown without its parts and never rounded up."""

    part: int
    whole: int

    @property
    def percent(self) -> str:
        """`99.4 %`, cut after one decimal; a dash when there is nothing to divide by."""
        if self.whole == 0:
            return "-"
        tenths = self.part * 1000 // self.whole
        return f"{tenths // 10}.{tenths % 10} %"

    def __str__(self) -> str:
        return f"{self.part:,}/{self.whole:,}"


def capture_rate(counts: dict[Verdict, int]) -> Fraction:
    """Captured over graded, of done jobs where thinking was expected (`counts` by verdict)."""
    return Fraction(
        sum(counts.get(verdict, 0) for verdict in CAPTURED),
        sum(counts.get(verdict, 0) for verdict in GRADED),
    )
