"""Rows whose question stands in columns of its own. The columns of old answers are never read."""

from app.intake.draft import Draft, Turn
from app.intake.formats.chat import draft_of
from app.intake.formats.conversations import exchanges, text_of
from app.intake.strict_json import Json

Row = dict[str, Json]


def read_problem(row: Row) -> Draft:
    """Magicoder OSS-Instruct: `{"problem"}`."""
    return _asked(row, text_of(row["problem"]))


def read_instruction(row: Row) -> Draft:
    """alpaca and Evol-Instruct: `{"instruction", "input"?}`, parted by one newline; an empty input adds none."""
    instruction, more = text_of(row["instruction"]), text_of(row.get("input"))
    return _asked(row, f"{instruction}\n{more}" if more else instruction)


def read_instruction_apart(row: Row) -> Draft:
    """The same, parted by an empty line."""
    instruction, more = text_of(row["instruction"]), text_of(row.get("input"))
    return _asked(row, f"{instruction}\n\n{more}" if more else instruction)


def read_query(row: Row) -> Draft:
    """`{"query", "history"?}`."""
    return _asked(row, text_of(row["query"]))


def read_input(row: Row) -> Draft:
    """OpenCodeInstruct: `{"input", "output"}`."""
    return _asked(row, text_of(row["input"]))


def _asked(row: Row, question: str) -> Draft:
    return draft_of(row, [*exchanges(row.get("history")), Turn("user", question)])
