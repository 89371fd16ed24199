"""Steps 3 to 6: from the texts of one choice to its columns, verdict and flags."""

from app.capture.asked import Asked
from app.capture.envelope import Choice
from app.capture.fields import Field, choose_field, is_blank
from app.capture.flags import Flag
from app.capture.harmony import read_channels
from app.capture.outcome import Facts, Outcome
from app.capture.profiles import HARMONY, Profile
from app.capture.protection import Protection
from app.capture.reading import ChoiceReading, Usage
from app.capture.residual import residual
from app.capture.split import read_content
from app.capture.tools import count_calls, has_markup
from app.model.found import Found
from app.model.verdicts import Verdict


def judge(choice: Choice, usage: Usage | None, asked: Asked) -> ChoiceReading:
    """The reading of one choice."""
    message = choice.message
    facts = Facts(asked, asked.tags, choice.finish_reason, message.tool_calls)
    field = choose_field(message.thoughts, facts.tags)
    outcome = _decide(field, message.content, facts)
    tool_calls = message.tool_calls or count_calls(outcome.content)
    reasoning = outcome.reasoning
    if reasoning is None and outcome.parts is None:
        reasoning = field.blank
    return ChoiceReading(
        index=choice.index,
        reasoning=reasoning,
        content=outcome.content,
        tool_calls=tool_calls,
        verdict=outcome.verdict,
        flags=outcome.flags | message.flags | field.flags | _notes(outcome, tool_calls, usage, facts),
        parts=outcome.parts,
        finish_reason=choice.finish_reason,
        found=Found.of(
            field=field.text is not None, tag=message.content is not None and facts.tags.close in message.content
        ),
    )


def _decide(field: Field, content: str | None, facts: Facts) -> Outcome:
    if field.text is not None:
        return _read_field(field.text, content, facts)
    if content is None or is_blank(content):
        return _read_nothing(content, facts)
    if facts.tags.name == HARMONY:
        return read_channels(content, facts)
    return read_content(content, facts)


def _read_field(field: str, content: str | None, facts: Facts) -> Outcome:
    """Step 3: the server separated the thought; the first rule that holds decides."""
    flags = frozenset[Flag]() if facts.expected else frozenset({Flag.UNEXPECTED_REASONING})
    if has_markup(field):
        return Outcome(Verdict.LEAKED, field, content, flags | {Flag.TOOL_MARKUP_IN_REASONING})
    if Protection(field).first_unprotected(facts.tags.close) >= 0:
        return Outcome(Verdict.LEAKED, field, content, flags | {Flag.CLOSE_TAG_IN_REASONING})
    if not facts.expected:
        return Outcome(Verdict.LEAKED, field, content, flags)
    if content is None or is_blank(content):
        return _read_lone_field(field, content, facts)
    if content.strip() == field.strip():
        flags = frozenset({Flag.CONTENT_EQUALS_REASONING})
        return Outcome(facts.truncated_or_leaked, field, content, flags)
    return _embedded(field, content, facts.tags) or _read_both(field, content, facts)


def _read_lone_field(field: str, content: str | None, facts: Facts) -> Outcome:
    if facts.tool_calls:
        return Outcome(Verdict.CAPTURED_FIELD, field, content)
    flags = frozenset[Flag]() if facts.cut else frozenset({Flag.ANSWER_IN_REASONING})
    return Outcome(facts.truncated_or_leaked, field, content, flags)


def _embedded(field: str, content: str, tags: Profile) -> Outcome | None:
    """The same thought once more at the start of content, with or without its open tag."""
    core = field.strip()
    body = content.lstrip()
    starts = [content]
    if body.startswith(tags.open):
        starts.insert(0, body[len(tags.open) :])
    for start in starts:
        inner = start.lstrip()
        if not inner.startswith(core):
            continue
        behind = inner[len(core) :]
        answer = behind.lstrip()
        if answer.startswith(tags.close):
            copy = start[: len(start) - len(answer)]
            answer = answer[len(tags.close) :]
            longer = copy if len(copy) > len(field) else field
            return Outcome(Verdict.CAPTURED_FIELD, longer, answer, frozenset({Flag.DUP_IN_CONTENT}))
    return None


def _read_both(field: str, content: str, facts: Facts) -> Outcome:
    rest = residual(content, facts)
    if rest.found:
        return Outcome(Verdict.LEAKED, field, content, frozenset({Flag.TAGS_IN_CONTENT}))
    flags = frozenset({Flag.TAG_ECHO}) if rest.echo else frozenset[Flag]()
    return Outcome(Verdict.CAPTURED_FIELD, field, content, flags)


def _read_nothing(content: str | None, facts: Facts) -> Outcome:
    """Step 4: neither column holds anything."""
    if facts.expected and facts.cut and not facts.tool_calls:
        return Outcome(Verdict.TRUNCATED, None, content, frozenset({Flag.NOTHING_GENERATED}))
    return Outcome(facts.missing_or_none, None, content)


def _notes(outcome: Outcome, tool_calls: int | None, usage: Usage | None, facts: Facts) -> frozenset[Flag]:
    """Step 6: what is worth knowing of the columns, whatever the verdict."""
    notes = set[Flag]()
    answered = not is_blank(outcome.content)
    if has_markup(outcome.content):
        notes.add(Flag.TOOL_MARKUP_IN_CONTENT)
    settled = outcome.verdict in (Verdict.TRUNCATED, Verdict.LEAKED)
    if facts.cut and not settled and (answered or tool_calls):
        notes.add(Flag.CONTENT_TRUNCATED)
    if outcome.verdict is Verdict.MISSING and Flag.EMPTY_BLOCK not in outcome.flags:
        if usage is not None and usage.reasoning_tokens:
            notes.add(Flag.REASONING_TOKENS_NONZERO)
        elif answered:
            notes.add(Flag.NO_TRACE)
    return frozenset(notes)
