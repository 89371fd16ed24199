"""The formats that rows may have, in the order in which they are tried: the first whose keys are there wins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from app.intake.draft import Draft
from app.intake.formats.answers import (
    Answer,
    batch_answer,
    curator_answer,
    is_regenerated,
    is_result,
    read_batch_result,
    read_curator,
    read_regenerated,
    regenerated_answer,
    whole_row,
)
from app.intake.formats.archive import full_answer, is_full, read_full
from app.intake.formats.batch import read_request
from app.intake.formats.chat import read_messages, read_prompt
from app.intake.formats.columns import read_input, read_instruction, read_instruction_apart, read_problem, read_query
from app.intake.formats.conversations import (
    read_alternating,
    read_conversations,
    read_follow_ups,
    read_history,
    read_pairs,
)
from app.intake.formats.glaive import read_functions, read_glaive
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json

Row = dict[str, Json]
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: what tells it, and how a row of it is read."""

    name: str
    keys: tuple[str, ...]
    read: Callable[[Row], Draft]
    needs: tuple[str, ...] | None = None  # where a person named the format: fewer keys do
    answer: Answer | None = None  # what of the row is an answer of an earlier run
    when: Callable[[Row], bool] | None = None  # what must be true of the values, too

    def fits(self, row: Row) -> bool:
        """Whether a row with all its keys looks like this format."""
        return self.when is None or self.when(row)


def _holds_objects(key: str) -> Callable[[Row], bool]:
    """Whether the value is a list that begins with an object."""

    def holds(row: Row) -> bool:
        value = row[key]
        return isinstance(value, list) and bool(value) and isinstance(value[0], dict)

    return holds


FORMATS = (
    Format("openai_batch", ("custom_id", "url", "body"), read_request),
    Format("glaive", ("system", "chat"), read_glaive),
    Format("full", ("sample_id", "messages", "response"), read_full, answer=full_answer, when=is_full),
    Format("curator", ("generic_request",), read_curator, answer=curator_answer),
    Format("openai_batch_result", ("custom_id",), read_batch_result, answer=batch_answer, when=is_result),
    Format("raw_responses", ("sample_id", "messages", "finish_reason"), read_messages, ("messages",), whole_row),
    Format("swe_agent", ("history", "trajectory"), read_history),
    Format("own", ("sample_id", "messages"), read_messages),
    Format("messages", ("messages",), read_messages),
    Format("specforge", ("conversations", "status"), read_regenerated, answer=regenerated_answer, when=is_regenerated),
    Format("glaive_functions", ("function_description", "conversations"), read_functions),
    Format("sharegpt", ("conversations",), read_conversations),
    Format("pairs", ("conversation",), read_pairs),
    Format("mt_bench", ("turns",), read_follow_ups),
    Format("swe_agent_history", ("history",), read_history, when=_holds_objects("history")),
    Format("ultrachat", ("data",), read_alternating, when=lambda row: isinstance(row["data"], list)),
    Format("magicoder", ("problem",), read_problem),
    Format("alpaca", ("instruction",), read_instruction),
    Format("alpaca_blank_line", ("instruction",), read_instruction_apart),  # by its name only: alpaca comes first
    Format("query", ("query",), read_query),
    Format("prompt", ("prompt",), read_prompt),
    Format("opencodeinstruct", ("input", "output"), read_input),
)
READABLE = {known.name: known for known in FORMATS}


def read_draft(row: Row, wanted: str = AUTO) -> tuple[Format, Draft]:
    """The row's format and what it makes of the row; `wanted` allows one format only."""
    found = recognise(row) if wanted == AUTO else _told(row, wanted)
    if found is None:
        raise RowRefused("unknown_format", f"keys: {', '.join(row)[:200]}" if row else "an empty object")
    return found, found.read(row)


def recognise(row: Row) -> Format | None:
    """The first format whose keys the row has."""
    return next((known for known in _with_keys(frozenset(_KEYS.intersection(row))) if known.fits(row)), None)


_KEYS = frozenset(key for known in FORMATS for key in known.keys)


@lru_cache(maxsize=256)
def _with_keys(keys: frozenset[str]) -> tuple[Format, ...]:
    """The formats that these keys are enough for. Most rows of a file have the same: asked anew it took 7 us a row."""
    return tuple(known for known in FORMATS if keys.issuperset(known.keys))


def _told(row: Row, wanted: str) -> Format | None:
    known = READABLE[wanted]
    return known if all(key in row for key in known.needs or known.keys) else None
