"""Rows that hold a conversation as chat messages, or a prompt alone."""

from app.intake.draft import Draft, Turn
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, kind_of, without_nulls
from app.intake.turns import MEDIA, read_turns

Row = dict[str, Json]


def read_messages(row: Row) -> Draft:
    """`{"messages": [...], "tools"?, "system"?}`."""
    return draft_of(row, read_turns(without_nulls(row["messages"])))


def read_prompt(row: Row) -> Draft:
    """`{"prompt": text}`, or a list of messages under `prompt`."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        return draft_of(row, [Turn("user", prompt)])
    return draft_of(row, read_turns(without_nulls(prompt), "prompt", "a text or a list of messages"))


def draft_of(row: Row, turns: list[Turn]) -> Draft:
    """The turns with what a row of any format may hold beside them: a system prompt, tools, media."""
    return Draft(
        with_system(row.get("system"), turns),
        without_nulls(row.get("tools")),
        multimodal=any(row.get(key) for key in MEDIA),
    )


def with_system(system: Json, turns: list[Turn]) -> list[Turn]:
    """The turns with a row's `system` text before them; an empty one counts as none, two equal ones as one."""
    if system is None or system == "":
        return turns
    if not isinstance(system, str):
        raise RowRefused("unknown_format", f"`system` is {kind_of(system)}; expected a text")
    if turns and turns[0].role == "system" and turns[0].text == system:
        return turns
    return [Turn("system", system), *turns]
