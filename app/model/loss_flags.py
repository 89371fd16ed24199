"""What hints that text of an answer was lost on its way, by measure and not by the rules that give a verdict."""

import json
from collections.abc import Iterable
from enum import StrEnum


class LossFlag(StrEnum):
    """Stored and shown beside the flags of a reading (docs/decisions/0027)."""

    TEXT_SHORT = "text_short_for_tokens"  # fewer characters than the counted tokens can be
    CUT_UPSTREAM = "cut_upstream"  # begins as if a thought before it had been cut off


def stored(flags: Iterable[LossFlag]) -> str | None:
    """The flags as a column holds them: null for none, so that an index of the few is small."""
    return json.dumps(sorted(flags)) if flags else None


def loaded(column: str | None) -> frozenset[LossFlag]:
    """The flags of such a column."""
    return frozenset() if column is None else frozenset(map(LossFlag, json.loads(column)))
