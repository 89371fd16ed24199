"""The normal form of a prompt: one form whatever the file, so that equal prompts are equal bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, takewhile

from app.intake.draft import PLACE, Draft, Turn
from app.intake.refusal import RowRefused
from app.intake.script import as_script
from app.intake.strict_json import Json
from app.intake.tools import Call, Object, read_call, read_tools, refuse_undeclared
from app.intake.turns import CALL_ROLES

_SPOKEN_BY = {
    "user": ("user", "human"),
    "assistant": ("assistant", "gpt", "chatgpt", "bing", "bard", "model", *CALL_ROLES),
    "system": ("system",),
    "tool": ("tool", "observation", "function", "function_response", "function-response"),
}
ROLES = {name: role for role, names in _SPOKEN_BY.items() for name in names}

_OPEN, _CLOSE = "<think>", "</think>"


class Turns(StrEnum):
    """Which answers of a conversation are asked for."""

    LAST = "last"  # the one after the last user turn; what stands before it is history
    FIRST = "first"  # the one after the first user turn; the rest is left out
    ALL = "all"  # every one, in turn, each after the model's own answers before it


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked: messages with nothing but role, content, reasoning_content, tool_calls and tool_call_id."""

    messages: list[Json]
    tools: list[Json] | None
    notes: list[str]


def normalise(draft: Draft, asked: Turns = Turns.LAST, *, drop_system: bool = False) -> Prompt:
    """The prompt of a draft, or RowRefused with the first reason in the order of the checks."""
    tools = read_tools(draft.tools)
    turns = [_with_role(turn) for turn in draft.turns]
    if drop_system:
        turns = [turn for turn in turns if turn.role != "system"]
    if asked is Turns.ALL:
        turns += [one for follow_up in draft.followups for one in (PLACE, follow_up)]
    if draft.multimodal or any(turn.multimodal for turn in turns):
        raise RowRefused("multimodal")
    turns, leading = _without_leading_answers(turns)
    if asked is Turns.FIRST:
        turns = list(_up_to_first_answer(turns))
    if any(turn.role == "user" and is_blank(turn.text) for turn in turns):
        raise RowRefused("empty_user_turn")
    whole = [_with_reasoning(turn) for turn in turns]
    kept = _up_to_empty_answer(whole)
    cut = len(kept) < len(whole) - 1
    kept = _without_trailing_answers(kept)
    messages = _linked(kept, tools)
    notes = _notes(kept, leading, cut=cut)
    if draft.followups and asked is not Turns.ALL:
        notes.append(f"followups:{len(draft.followups)}")
    return Prompt(as_script(messages) if asked is Turns.ALL else messages, tools, [*notes, *draft.notes])


def _with_role(turn: Turn) -> Turn:
    role = ROLES.get(turn.role)
    if role is None:
        raise RowRefused(f"unknown_role:{turn.role}")
    return turn if role == turn.role else replace(turn, role=role)


def _up_to_first_answer(turns: list[Turn]) -> Iterator[Turn]:
    """The system and user turns that an answer follows for the first time."""
    return takewhile(lambda turn: turn.role in ("system", "user"), turns)


def is_blank(text: str) -> bool:
    return not text or text.isspace() or not text.replace("\u200b", "").strip()


def _without_leading_answers(turns: list[Turn]) -> tuple[list[Turn], int]:
    """The turns from the first user turn on, with the system turns before it; and how many went."""
    first = next((place for place, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        raise RowRefused("no_user_turn")
    system = [turn for turn in turns[:first] if turn.role == "system"]
    return system + turns[first:], first - len(system)


def _with_reasoning(turn: Turn) -> Turn:
    """A `<think>` block at the start of an answer as its reasoning; line breaks stay on both sides."""
    if turn.role != "assistant" or turn.reasoning or not turn.text.lstrip().startswith(_OPEN):
        return turn
    reasoning, closed, text = turn.text.lstrip().removeprefix(_OPEN).partition(_CLOSE)
    return replace(turn, reasoning=reasoning, text=text) if closed else turn


def _up_to_empty_answer(turns: list[Turn]) -> list[Turn]:
    """The turns before the first answer that says and calls nothing."""
    for place, turn in enumerate(turns):
        if turn.role == "assistant" and not turn.calls and is_blank(turn.text):
            return turns[:place]
    return turns


def _without_trailing_answers(turns: list[Turn]) -> list[Turn]:
    end = len(turns)
    while turns[end - 1].role == "assistant":
        end -= 1
    return turns[:end]


def _notes(turns: list[Turn], leading: int, *, cut: bool) -> list[str]:
    notes = []
    if leading:
        notes.append(f"leading_assistant_removed:{leading}")
    if cut:
        notes.append("cut_at_empty_assistant")
    if any(one.role == other.role == "user" for one, other in pairwise(turns)):
        notes.append("consecutive_user")
    return notes


def _linked(turns: list[Turn], tools: list[Json] | None) -> list[Json]:
    """The messages, with an id for every call and, at every result, the id of the call it answers."""
    if all(turn.role != "tool" and not turn.calls for turn in turns):
        return [_message(turn) for turn in turns]
    calls = [[read_call(raw) for raw in turn.calls] if turn.role == "assistant" else [] for turn in turns]
    messages = _answered(turns, calls)
    refuse_undeclared([call for several in calls for call in several], tools)
    return messages


def _answered(turns: list[Turn], calls: list[list[Call]]) -> list[Json]:
    messages: list[Json] = []
    open_ids: list[str] = []
    count = 0
    for turn, made in zip(turns, calls, strict=True):
        message = _message(turn)
        if turn.role == "assistant":
            named = [(call, call.id or f"functions.{call.name}:{count + place}") for place, call in enumerate(made)]
            count += len(made)
            open_ids = [call_id for _, call_id in named]
            if named:
                message["tool_calls"] = [call.to_json(call_id) for call, call_id in named]
        elif turn.role == "tool":
            message["tool_call_id"] = _close(open_ids, turn.answers)
        messages.append(message)
    return messages


def _close(open_ids: list[str], named: str | None) -> str:
    """Take the call that a result answers from the open ones: the named one, else the oldest."""
    if not open_ids or (named is not None and named not in open_ids):
        raise RowRefused("tool_result_without_call", "" if named is None else f"id {named}")
    answered = open_ids[0] if named is None else named
    open_ids.remove(answered)
    return answered


def _message(turn: Turn) -> Object:
    if turn.reasoning and turn.role == "assistant":
        return {"role": turn.role, "content": turn.text, "reasoning_content": turn.reasoning}
    return {"role": turn.role, "content": turn.text}
