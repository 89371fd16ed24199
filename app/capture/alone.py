"""Whether what stands behind a tag stands alone as Markdown, told for many tags by one look.

A look from behind one tag reads on to the fence, or to the run of back-ticks, that has no partner. It ends there for
every other tag that it passed outside a block or code span, too, so that the next look may start behind them.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from app.capture.fences import FENCE, INFO, OPENS, SAME_FENCE, TO_CLOSER
from app.capture.scanning import AT_ONCE, SPAN, skip

_MARKED = " {0,3}(?:```|~~~)"  # a tag before it may have a fence for the rest of its line
_TICKS, _LINE = "`\\n", "\\n"  # what ends a piece of a line


class Look(NamedTuple):
    """`alone`, or from where on another tag may be."""

    alone: bool
    resume: int
    read: int  # how many characters that took


def look_at_line(text: str, position: int, tag: str) -> Look:
    """Whether the back-ticks from there to the end of the line are all paired."""
    free, any_span = _line_patterns(tag)
    passed = skip(free, text, position)
    end = skip(any_span, text, passed)
    return Look(alone=text[end : end + 1] != "`", resume=passed, read=end - position)


def look_at_fences(text: str, position: int, tag: str) -> Look:
    """Whether no fence is left open by the lines behind the one of that position."""
    free, any_block, first = _fence_patterns(tag)
    start = first.match(text, position)
    if start is None:  # a tag in front of a fence, whose rest is another one
        passed, at = position, text.find("\n", position)
    else:
        passed = at = skip(free, text, start.end())
    end = skip(any_block, text, at if at >= 0 else len(text))
    return Look(alone=end == len(text), resume=passed, read=end - position)


@lru_cache(maxsize=32)
def marked(tag: str) -> re.Pattern[str]:
    """The tag in front of what may be a fence."""
    return re.compile(re.escape(tag) + f"(?={_MARKED})")


@lru_cache(maxsize=32)
def _line_patterns(tag: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Text without the tag in front of a fence, and code spans without the tag; text and any code spans."""
    free = rf"(?!{re.escape(tag)}{_MARKED})[^`\n]{_without(tag, _TICKS, _MARKED)}"
    inside = _without(tag, _TICKS)
    bare_span = rf"(?P<run>`++){inside}(?:(?!(?P=run)(?!`))`++{inside})*+(?P=run)(?!`)"
    return re.compile(rf"(?:{free}|{bare_span}){AT_ONCE}"), re.compile(rf"(?:[^`\n]++|{SPAN}){AT_ONCE}")


@lru_cache(maxsize=32)
def _fence_patterns(tag: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Lines and blocks, without the tag in a block or in front of a fence; lines and any blocks; a first line."""
    line = _without(tag, _LINE, _MARKED)
    inside = _without(tag, _LINE)
    info = rf"(?:(?<=~){inside}|(?<=`){_without(tag, _TICKS)})(?=\n|\Z)"
    closer = rf"(?:\n(?!{SAME_FENCE}){inside}(?=\n))*+\n{SAME_FENCE}"
    no_fence = rf"\n(?! {{0,3}}{OPENS})"
    return (
        re.compile(rf"(?:{no_fence}{line}(?=\n|\Z)|\n {{0,3}}{FENCE}{info}{closer}){AT_ONCE}"),
        re.compile(rf"(?:{no_fence}[^\n]*+|\n {{0,3}}{FENCE}{INFO}{TO_CLOSER}){AT_ONCE}"),
        re.compile(rf"{line}(?=\n|\Z)"),
    )


def _without(tag: str, ends: str, behind: str = "") -> str:
    """Characters other than those, up to the tag (with that behind it)."""
    first = re.escape(tag[0])
    plain = f"[^{ends}{first}]*+"
    return f"{plain}(?:(?!{re.escape(tag)}{behind}){first}{plain})*+"
