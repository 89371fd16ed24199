"""Tags outside code, found by one pattern that steps over closed blocks and code spans without coming up for air.

It stops where a fence or a run of back-ticks has no partner, since each of those sends it to the end of the text or
of the line. A text of many such stops is left to whoever reads tag by tag, which is slower and never quadratic.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from app.capture.fences import BARE_LINE, FENCE, FENCE_LINE, INFO, OPENS, TO_CLOSER

_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"), ("『", "』"))
_UNBOUND = 1 << 30
_SHORT = 100  # characters up to the end of a line; within them a lone run may look for its partner in vain
_LOOKS = 4  # how many lengths of the text may be read in vain
_STOPS = 12  # each fence length that never closes costs a pattern of its own

# Not without bound and possessive: with groups inside, CPython before 3.12 loses count of them (python/cpython#101955).
AT_ONCE = "{0,5000}"

# Back-ticks, and the next run that is exactly as long on the same line.
SPAN = r"(?P<run>`++)[^`\n]*+(?:(?!(?P=run)(?!`))`++[^`\n]*+)*+(?P=run)(?!`)"
_RUN = re.compile("`+")

INFO_BEHIND = {"`": r"`*+[^`\n]*+(?:\n|\Z)", "~": ""}  # a back-tick in it, and the line is inline code
LOOK_CLOSER = ("far", "marked")  # last groups of `standing_alone` of which the pattern cannot say everything


def outside_code(text: str, tag: str, in_code: Callable[[int], bool]) -> Iterator[int]:
    """Where the unquoted tags outside closed blocks and code spans stand; `in_code` answers for one, tag by tag."""
    padded = "\n" + text  # so that the first line is one like the others
    at, ticks, tildes = 0, _UNBOUND, _UNBOUND
    looks, stops = _LOOKS * len(padded), _STOPS
    while looks > 0 and stops:
        at = skip(_scanner(tag, ticks, tildes), padded, at)
        what = padded[at : at + 1]
        if not what:
            return
        if what == "\n":
            ticks, tildes = _closable(padded, at, ticks, tildes)
            stops -= 1
        elif what == "`":
            looks -= _line_end(padded, at) - at
            at = _end_of_run(padded, at)
        else:
            yield at - 1
            at += len(tag)
    yield from (found for found in unquoted(text, tag, max(at - 1, 0)) if not in_code(found))


def skip(scanner: re.Pattern[str], padded: str, at: int) -> int:
    """The next place where that pattern finds nothing more to step over."""
    while (step := scanner.match(padded, at)) is not None and step.end() > at:
        at = step.end()
    return at


def unquoted(text: str, tag: str, start: int = 0) -> Iterator[int]:
    """Where the tag stands without being touched on both sides by matching quote marks."""
    for match in unquoted_pattern(tag).finditer(text, start):
        yield match.start()


def unquoted_source(tag: str) -> str:
    """The tag, not touched on both sides by matching quote marks."""
    literal = re.escape(tag)
    return literal + "".join(f"(?!(?<={left}{literal}){right})" for left, right in _QUOTES)


@lru_cache(maxsize=32)
def unquoted_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(unquoted_source(tag))


@lru_cache(maxsize=32)
def standing_alone(tag: str, rule: str) -> re.Pattern[str]:
    """Tags whose line ends soon and pairs its back-ticks behind them.

    Also all whose line goes on (the last group is `far`), or may go on with a fence (`marked`).
    A fence like `rule` behind a tag rules it out.
    """
    pairs = rf"(?=(?:[^`\n]++|{SPAN})*(?:\n|\Z))"
    far, marked = rf"(?=[^\n]{{{_SHORT}}})(?P<far>)", r"(?= {0,3}(?:```|~~~))(?P<marked>)"
    ruled_out = rf"(?! {{0,3}}{rule}{INFO_BEHIND[rule[0]]})" if rule else ""
    return re.compile(rf"{unquoted_source(tag)}{ruled_out}(?:{far}|{marked}|{pairs})")


@lru_cache(maxsize=64)
def _scanner(tag: str, ticks: int, tildes: int) -> re.Pattern[str]:
    """All that may stand before an unprotected tag. Fences of that many back-ticks or tildes are known to be text."""
    first, unquoted_tag = re.escape(tag[0]), unquoted_source(tag)
    dead = "|".join(f"{mark}{{{least}}}" for mark, least in (("`", ticks), ("~", tildes)) if least < _UNBOUND)
    indent = rf" {{0,3}}{f'(?!{dead})' if dead else ''}"
    return re.compile(
        rf"(?:[^`\n{first}]++|\n(?! {{0,3}}(?:```|~~~))|(?!{unquoted_tag}){first}"
        rf"|\n{indent}{FENCE}{INFO}{TO_CLOSER}|\n(?!{indent}{OPENS})"
        rf"|{SPAN}|`++(?=[^\n]{{0,{_SHORT}}}+(?:\n|\Z))){AT_ONCE}"
    )


def _closable(padded: str, at: int, ticks: int, tildes: int) -> tuple[int, int]:
    """The bounds once the fence there has found no end: from there on no longer one does."""
    fence = FENCE_LINE.match(padded, at)
    if fence is None:
        return 3, 3
    mark = fence["mark"]
    longest = max((len(line.strip()) for line in BARE_LINE.findall(padded, at + 1) if mark in line), default=2)
    return (longest + 1, tildes) if mark == "`" else (ticks, longest + 1)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _end_of_run(text: str, at: int) -> int:
    run = _RUN.match(text, at)
    return run.end() if run else at + 1
