"""The formats that rows may have, in the order in which they are tried: the first whose keys are there wins."""

from collections.abc import Callable
from dataclasses import dataclass

from app.intake.draft import Draft
from app.intake.formats.chat import read_messages, read_prompt
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json

Row = dict[str, Json]
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the keys that tell it, and how a row of it is read. Without a reader its rows are refused by name."""

    name: str
    keys: tuple[str, ...]
    read: Callable[[Row], Draft] | None = None
    needs: tuple[str, ...] | None = None  # where a person named the format: fewer keys do
    result: bool = False  # the row holds an answer, and is its raw body


FORMATS = (
    Format("openai_batch", ("custom_id", "url", "body")),
    Format("glaive", ("system", "chat")),
    Format("raw_responses", ("sample_id", "messages", "finish_reason"), read_messages, ("messages",), result=True),
    Format("swe_agent", ("history", "trajectory")),
    Format("own", ("sample_id", "messages"), read_messages),
    Format("messages", ("messages",), read_messages),
    Format("glaive_functions", ("function_description", "conversations")),
    Format("sharegpt", ("conversations",)),
    Format("pairs", ("conversation",)),
    Format("mt_bench", ("turns",)),
    Format("problem", ("problem",)),
    Format("alpaca", ("instruction",)),
    Format("query", ("query",)),
    Format("prompt", ("prompt",), read_prompt),
    Format("input_output", ("input", "output")),
)
READABLE = {known.name: known for known in FORMATS if known.read is not None}


def read_draft(row: Row, wanted: str = AUTO) -> tuple[Format, Draft]:
    """The row's format and what it makes of the row; `wanted` allows one format only."""
    found = recognise(row) if wanted == AUTO else _told(row, wanted)
    if found is None:
        raise RowRefused("unknown_format", f"keys: {', '.join(row)[:200]}" if row else "an empty object")
    if found.read is None:
        raise RowRefused("unknown_format", f"{found.name} rows cannot be read yet")
    return found, found.read(row)


def recognise(row: Row) -> Format | None:
    """The first format whose keys the row has."""
    return next((known for known in FORMATS if all(key in row for key in known.keys)), None)


def _told(row: Row, wanted: str) -> Format | None:
    known = READABLE[wanted]
    return known if all(key in row for key in known.needs or known.keys) else None
