"""Two cheap detectors of text that was lost before it came to us: what the tokens, and the first line, give away.

They measure and do not read, so they change no column and no verdict, and stand beside the flags of the procedure.
"""

import re
from collections.abc import Sequence

from app.capture.envelope import Choice, Envelope
from app.capture.fields import is_blank
from app.capture.reading import ChoiceReading
from app.model.loss_flags import LossFlag
from app.model.verdicts import Verdict

LEAST_TOKENS = 64  # with fewer, the tokens of markup weigh too much
LEAST_RATIO = 1.2  # characters a token; answers that are whole have 1.7 to 7.1

_EMPTY_LINE = re.compile(r"[ \t]*\r?\n")
_WITHOUT_THOUGHT = frozenset((Verdict.MISSING, Verdict.NONE_EXPECTED))


def loss_flags(outer: Envelope, row: ChoiceReading) -> frozenset[LossFlag]:
    """What hints at a loss in a body that was read; `row` is the choice that its reading speaks of."""
    flags = set[LossFlag]()
    tokens = None if outer.usage is None else outer.usage.completion_tokens
    if tokens is not None and tokens >= LEAST_TOKENS and _visible(outer.choices) < LEAST_RATIO * tokens:
        flags.add(LossFlag.TEXT_SHORT)
    if _cut(row):
        flags.add(LossFlag.CUT_UPSTREAM)
    return frozenset(flags)


def _visible(choices: Sequence[Choice]) -> int:
    """Characters of all choices: servers count the tokens of all together, and one that does not raises no alarm."""
    return sum(choice.message.visible_chars for choice in choices)


def _cut(row: ChoiceReading) -> bool:
    """Whether an answer without a thought begins with an empty line. Where its block is there, nothing was cut."""
    if row.verdict not in _WITHOUT_THOUGHT or row.parts is not None:
        return False
    return row.content is not None and not is_blank(row.content) and _EMPTY_LINE.match(row.content) is not None
