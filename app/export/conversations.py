"""A conversation in an export: all of it as one row, and each of its generations as a row of its own."""

import json
from collections.abc import Sequence
from dataclasses import replace

from app.capture import Form, said
from app.export.presets import EACH_TURN, Preset
from app.export.values import Exported, Unfit
from app.model.conversation import Message, Said, as_sent, prompts
from app.model.request_hash import was_sent


def whole(turns: Sequence[Exported]) -> Exported:
    """The row of a conversation: its last answer, after all that was said before it, thoughts included.

    Raises Unfit where an earlier answer was read anew since, and later turns were asked after another history.
    """
    script = turns[0].messages
    sent = prompts(json.loads(script), [_said(turn) for turn in turns])
    if not all(_as_asked(turn, messages) for turn, messages in list(zip(turns, sent, strict=False))[1:]):
        raise Unfit("history_changed")
    generations = tuple(
        replace(turn, messages=_text(as_sent(messages)), turn=number)
        for number, (turn, messages) in enumerate(zip(turns, sent, strict=False))
    )
    return replace(turns[-1], messages=_text(sent[len(turns) - 1]), generations=generations, script=script)


def rows_of(row: Exported, preset: Preset) -> Sequence[Exported]:
    """The rows that a job is in a preset: one, or one a generation."""
    return row.generations if preset in EACH_TURN and row.generations else (row,)


def _as_asked(turn: Exported, messages: list[Message]) -> bool:
    """Whether this is the prompt that the turn was asked with; where no hash of the request is known, it is taken."""
    return was_sent(messages, turn.tools, turn.stored.facts.request, turn.stored.facts.request_sha256) is not False


def _said(turn: Exported) -> Said:
    calls = None if turn.tool_calls is None else len(turn.tool_calls)
    return said(turn.stored.body, Form(turn.stored.form), turn.reasoning, turn.content, calls)


def _text(messages: list[Message]) -> str:
    return json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
