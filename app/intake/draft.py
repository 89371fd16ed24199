"""What a format makes of a row: turns in the file's own words, not yet checked or put in order."""

from dataclasses import dataclass

from app.intake.strict_json import Json


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `text` and `reasoning` are already joined; the role and the calls are as the file has them."""

    role: str
    text: str
    reasoning: str = ""
    calls: tuple[Json, ...] = ()
    answers: str | None = None  # the id of the call that a tool turn answers
    multimodal: bool = False  # holds more than text


PLACE = Turn("assistant", "-")  # of an answer that the row does not have: its words are never used


@dataclass(frozen=True, slots=True)
class Draft:
    """A row as its format reads it."""

    turns: list[Turn]
    tools: Json = None
    multimodal: bool = False  # pictures, sound or video beside the turns
    notes: tuple[str, ...] = ()
    named: dict[str, Json] | None = None  # what holds the row's id, where that is not the row itself
    prompt_elsewhere: bool = False  # the row holds an answer alone
    settings: dict[str, Json] | None = None  # keys of the request that this row overrides
    followups: tuple[Turn, ...] = ()  # what the user says after each answer, where the row has no answers
    script: bool = False  # every answer is the model's own, whatever --turns says
