"""Step 5: text only in content. The thought is cut out of it by slicing, so the parts joined are the text itself."""

from dataclasses import dataclass, replace

from app.capture.fields import is_blank
from app.capture.flags import Flag
from app.capture.outcome import Facts, Outcome
from app.capture.profiles import Profile
from app.capture.protection import Protection
from app.capture.reading import Parts
from app.capture.residual import residual
from app.capture.tools import SECTION, count_calls, has_markup
from app.model.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Opening:
    """The text behind an explicit open tag, or all of it when it has none."""

    lead: str
    open: str
    rest: str

    @property
    def explicit(self) -> bool:
        """Whether the answer itself wrote the open tag."""
        return bool(self.open)

    def cut(self, at: int, close: int) -> Parts:
        """The five parts, with `close` characters of close tag at that position of the rest."""
        return self.lead, self.open, self.rest[:at], self.rest[at : at + close], self.rest[at + close :]


def read_content(text: str, facts: Facts) -> Outcome:
    """Judge an answer that came in content alone."""
    opening = opening_of(text, facts.tags)
    if not opening.explicit and not facts.expected:
        return _unasked(text, facts)
    view = Protection(opening.rest)
    outcome = _read_expected(view, opening, text, facts)
    if facts.tags.close in opening.rest and not view.complete:
        return replace(outcome, flags=outcome.flags | {Flag.TOO_MANY_MARKS})
    return outcome


def _read_expected(view: Protection, opening: Opening, text: str, facts: Facts) -> Outcome:
    control = view.control(facts.tags.close)
    if control is not None:
        flags = _mention_flags(opening.rest, control.at, control.protected, facts.tags.close)
        return _split(opening.cut(control.at, len(facts.tags.close)), flags, facts)
    flags = frozenset({Flag.LITERAL_CLOSE_ONLY}) if facts.tags.close in opening.rest else frozenset[Flag]()
    section = _implicit_close(view, opening, facts)
    if section >= 0:
        return _split(opening.cut(section, 0), flags | {Flag.IMPLICIT_CLOSE_BY_TOOL}, facts)
    if opening.explicit:
        return _unclosed(opening, flags, facts)
    return _untagged(text, flags, facts)


def opening_of(text: str, tags: Profile) -> Opening:
    """Where the thought starts. Only white space may stand before an explicit open tag."""
    body = text.lstrip()
    if not body.startswith(tags.open):
        return Opening("", "", text)
    lead, mark = len(text) - len(body), len(tags.open)
    return Opening(text[:lead], body[:mark], body[mark:])


def _unasked(text: str, facts: Facts) -> Outcome:
    """Thinking was off and no block was opened: at most a stray close tag."""
    stray = not facts.tags.tagged(facts.asked.prompt) and Protection(text).first_unprotected(facts.tags.close) >= 0
    if stray:
        return Outcome(Verdict.LEAKED, None, text, frozenset({Flag.UNEXPECTED_CLOSE_TAG}))
    return Outcome(Verdict.NONE_EXPECTED, None, text)


def _mention_flags(rest: str, at: int, protected: bool, close: str) -> frozenset[Flag]:
    if protected:
        return frozenset({Flag.PROTECTED_CLOSE_USED})
    # Whatever stands before the first unprotected close tag is protected.
    return frozenset({Flag.LITERAL_CLOSE_IN_REASONING}) if rest.find(close, 0, at) >= 0 else frozenset()


def _implicit_close(view: Protection, opening: Opening, facts: Facts) -> int:
    """K2 models may jump into the tool section without closing the thought (vllm-project/vllm#32216)."""
    section = view.first_unprotected(SECTION)
    if section < 0 or opening.explicit:
        return section
    return section if facts.tags.prompt_opens and not is_blank(opening.rest[:section]) else -1


def _split(parts: Parts, flags: frozenset[Flag], facts: Facts) -> Outcome:
    """Judge a closed thought; the first rule that holds decides."""
    reasoning, content = parts[2], parts[4]
    if is_blank(reasoning):
        return Outcome(facts.missing_or_none, reasoning, content, flags | {Flag.EMPTY_BLOCK}, parts)
    if not facts.expected:
        flags |= {Flag.UNEXPECTED_REASONING}
    if has_markup(reasoning):
        return Outcome(Verdict.LEAKED, reasoning, content, flags | {Flag.TOOL_MARKUP_IN_REASONING}, parts)
    if not facts.expected:
        return Outcome(Verdict.LEAKED, reasoning, content, flags, parts)
    rest = residual(content, facts)
    if rest.found:
        return Outcome(Verdict.LEAKED, reasoning, content, flags | {Flag.TAGS_IN_CONTENT}, parts)
    if rest.echo:
        flags |= {Flag.TAG_ECHO}
    return Outcome(Verdict.SPLIT_FROM_CONTENT, reasoning, content, flags, parts)


def _unclosed(opening: Opening, flags: frozenset[Flag], facts: Facts) -> Outcome:
    """An explicit block without an end: all of it is thought."""
    parts = opening.cut(len(opening.rest), 0)
    if not facts.expected:
        return _all_thought(Verdict.LEAKED, parts, flags | {Flag.UNEXPECTED_REASONING})
    if facts.cut:
        return _all_thought(Verdict.TRUNCATED, parts, flags)
    return _all_thought(Verdict.LEAKED, parts, flags | {Flag.UNCLOSED_AT_STOP})


def _untagged(text: str, flags: frozenset[Flag], facts: Facts) -> Outcome:
    """No structure at all: the cut thought of a template that opens it, or an answer without one."""
    tools = facts.tool_calls or count_calls(text)
    if facts.cut and facts.tags.prompt_opens and not tools:
        return _all_thought(Verdict.TRUNCATED, ("", "", text, "", ""), flags | {Flag.AMBIGUOUS_NO_TAGS})
    return Outcome(Verdict.MISSING, None, text, flags)


def _all_thought(verdict: Verdict, parts: Parts, flags: frozenset[Flag]) -> Outcome:
    """Tool markup in a thought is a leak, whatever ended the answer."""
    if has_markup(parts[2]):
        verdict, flags = Verdict.LEAKED, flags | {Flag.TOOL_MARKUP_IN_REASONING}
    return Outcome(verdict, parts[2], None, flags, parts)
