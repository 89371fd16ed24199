"""Kimi's tool calls where they stand in the text, verbatim."""

import re

SECTION = "<|tool_calls_section_begin|>"
_MARKERS = (SECTION, "<|tool_call_begin|>", "<|tool_call_argument_begin|>")
_STEM = "<|tool_call"
_CALL_END = "<|tool_call_end|>"

# Call-begin, an id without white space, argument-begin, {...}, call-end. Strings are stepped over, so that arguments
# may speak of the markers themselves; where that fails, the arguments reach to the next marker. Each text can be
# matched in one way only, and two attempts share no more than a string: a text of call-begins stays linear.
_CALL = re.compile(
    r"""
    <\|tool_call_begin\|>  (?P<id> (?: [^\s<] | <(?!\|tool_call) )+ )  <\|tool_call_argument_begin\|>
    (?P<arguments> \{
        (?: [^"<]* (?: (?: "[^"\\]*(?:\\.[^"\\]*)*" | <(?!\|tool_call) ) [^"<]* )*
          | [^<]* (?: <(?!\|tool_call) [^<]* )*
        )
        (?<=\}) (?=<\|tool_call_end\|>)
    )
    """,
    re.VERBOSE | re.DOTALL,
)


def has_markup(text: str | None) -> bool:
    """Whether a section, call-begin or argument-begin marker stands anywhere in the text."""
    return text is not None and _STEM in text and any(marker in text for marker in _MARKERS)


def argument_spans(text: str) -> list[tuple[int, int]]:
    """Where the arguments of well-formed calls stand."""
    if _CALL_END not in text:
        return []
    return [match.span("arguments") for match in _CALL.finditer(text)]


def count_calls(text: str | None) -> int | None:
    """How many well-formed calls stand in the text; None when there is none."""
    return (len(argument_spans(text)) or None) if text else None


def named_calls(text: str) -> list[tuple[str, str]]:
    """Name and id of each well-formed call: Kimi's ids are `functions.NAME:NUMBER`."""
    if _CALL_END not in text:
        return []
    ids = [match["id"] for match in _CALL.finditer(text)]
    return [(call_id.removeprefix("functions.").rpartition(":")[0] or call_id, call_id) for call_id in ids]
