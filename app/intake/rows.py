"""The bytes of one line to a row that can be stored, or to the reason why not. Any bytes give one of the two."""

import json
from dataclasses import dataclass, replace

import msgspec

from app.intake.formats import AUTO, read_draft
from app.intake.identity import Identity, identify
from app.intake.normal import Prompt, Turns, normalise
from app.intake.refusal import RowRefused
from app.intake.script import turns_in
from app.intake.strict_json import Json, read_json
from app.model.old_answer import OldAnswer


@dataclass(frozen=True, slots=True)
class Reading:
    """How rows are to be read: the settings of `import` that decide it."""

    format: str = AUTO
    id_field: str | None = None
    turns: Turns | None = None  # None: as the dataset says, else the last
    drop_system: bool = False  # of prompts; an old answer was given under its system prompt


@dataclass(frozen=True, slots=True)
class Row:
    """A row in its normal form; `messages` and `tools` are JSON texts."""

    line: int
    format: str
    identity: Identity
    messages: str
    tools: str | None
    notes: tuple[str, ...]
    settings: str | None = None  # JSON of what this row overrides in its request
    result: OldAnswer | None = None  # of an earlier run
    turns: int = 1  # answers that it asks for
    prompt_elsewhere: bool = False  # messages and tools are those of the dataset's sample of this id

    @property
    def content(self) -> str:
        """What makes two rows of one id the same: what is asked, and with which settings of its own."""
        return asked_content(self.identity.content_sha256, self.settings)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not taken, and where it stands."""

    line: int
    reason: str
    detail: str
    text: str  # the first 200 characters of its line


def asked_content(sha256: str, settings: str | None) -> str:
    """`Row.content`, from its parts."""
    return sha256 if settings is None else f"{sha256} {settings}"


def read_row(line: int, data: bytes, reading: Reading) -> Row | Reject:
    """The row that a line holds, or why it is not taken."""
    try:
        return _row(line, data, reading)
    except RowRefused as refused:
        return Reject(line, refused.reason, refused.detail, beginning(data))


def _row(line: int, data: bytes, reading: Reading) -> Row:
    value = read_json(data)
    if not isinstance(value, dict):
        raise RowRefused("not_an_object")
    # A null finish reason tells a result that never came to its end from a prompt.
    row: dict[str, Json] = {
        key: member for key, member in value.items() if member is not None or key == "finish_reason"
    }
    format_, draft = read_draft(row, reading.format)
    result = None if format_.answer is None else format_.answer(row, data)
    turns = Turns.ALL if draft.script else _asked(reading, result)
    drop_system = reading.drop_system and result is None
    prompt = Prompt([], None, []) if draft.prompt_elsewhere else normalise(draft, turns, drop_system=drop_system)
    identity = identify(row if draft.named is None else draft.named, prompt.messages, prompt.tools, reading.id_field)
    try:
        messages = msgspec.json.encode(prompt.messages).decode()
        tools = None if prompt.tools is None else _sendable(_TOOLS.encode(prompt.tools))
        settings = _sendable(_SETTINGS.encode(draft.settings)) if draft.settings else None
        _sendable(identity.base_id)
    except UnicodeEncodeError:
        raise RowRefused("lone_surrogate") from None
    notes, asks = tuple(prompt.notes), turns_in(prompt.messages)
    result = _for_turns(result, asks)
    return Row(line, format_.name, identity, messages, tools, notes, settings, result, asks, draft.prompt_elsewhere)


def _asked(reading: Reading, result: OldAnswer | None) -> Turns:
    """Which answers a row asks for. An old one is that to the last turn, whatever is asked of other rows."""
    return Turns.LAST if result is not None or reading.turns is None else reading.turns


def _for_turns(result: OldAnswer | None, asks: int) -> OldAnswer | None:
    """An old answer to so many turns; one that answers a single turn is no conversation."""
    if result is None or result.earlier is None:
        return result
    given = len(result.earlier) + 1
    if given > asks:
        raise RowRefused("conversation", f"it has {given} answers, and its script asks for {asks}")
    return replace(result, earlier=None) if asks == 1 else result


# Tools may hold whole numbers of any length, which msgspec does not write.
_TOOLS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SETTINGS = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _sendable(text: str) -> str:
    """The text, if it can be written as UTF-8; half of a surrogate pair raises UnicodeEncodeError."""
    text.encode()
    return text


def beginning(data: bytes, characters: int = 200) -> str:
    """The first characters of a line, whatever its bytes."""
    return data[: 4 * characters].decode(errors="replace")[:characters]
