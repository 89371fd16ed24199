"""Rows that hold a conversation in another form than chat messages."""

from dataclasses import replace

from app.intake.draft import Draft, Turn
from app.intake.formats.chat import draft_of
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, without_nulls
from app.intake.turns import read_turns

Row = dict[str, Json]


def read_conversations(row: Row) -> Draft:
    """ShareGPT and its relatives: `{"conversations": [{"from", "value"}]}`, or items with `role` and `content`."""
    return draft_of(row, read_turns(without_nulls(row["conversations"])))


def read_pairs(row: Row) -> Draft:
    """`{"conversation": [{"human", "assistant"}]}`."""
    turns: list[Turn] = []
    for pair in _list(row["conversation"]):
        if not isinstance(pair, dict) or "human" not in pair:
            raise RowRefused("unknown_format", "an item of the conversation has no human turn")
        turns.append(Turn("user", text_of(pair["human"])))
        if pair.get("assistant") is not None:
            turns.append(Turn("assistant", text_of(pair["assistant"])))
    return draft_of(row, turns)


def read_history(row: Row) -> Draft:
    """SWE-agent: `{"history": [messages]}`. The tools it calls are not in the file."""
    return draft_of({**row, "tools": None}, read_turns(without_nulls(row["history"])))


def read_follow_ups(row: Row) -> Draft:
    """mt_bench: `{"turns": [text, ...]}`, all of them the user's; the first is the prompt, the others follow up."""
    said = [Turn("user", text_of(text)) for text in _list(row["turns"])]
    return replace(draft_of(row, said[:1]), followups=tuple(said[1:]))


def read_alternating(row: Row) -> Draft:
    """UltraChat as first published: `{"data": [text, ...]}`, user and assistant in turns."""
    roles = ("user", "assistant")
    return draft_of(row, [Turn(roles[place % 2], text_of(text)) for place, text in enumerate(_list(row["data"]))])


def exchanges(history: Json) -> list[Turn]:
    """The turns of a `history` of `[question, answer]` pairs."""
    turns: list[Turn] = []
    for pair in [] if history is None or history == "" else _list(history):
        if not isinstance(pair, list) or len(pair) != 2:  # question and answer
            raise RowRefused("unknown_format", "an item of the history is no pair of texts")
        turns += [Turn("user", text_of(pair[0])), Turn("assistant", text_of(pair[1]))]
    return turns


def text_of(value: Json) -> str:
    """A text; nothing counts as an empty one, and any other value is no known format."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RowRefused("unknown_format", "a turn is no text")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise RowRefused("unknown_format", "the turns are no list")
    return value
