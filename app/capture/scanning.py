"""Tags outside code, found by one pattern that steps over closed blocks and code spans without coming up for air.

It stops where a fence or a run of back-ticks has no partner, since each of those sends it to the end of the text or
of the line. A text of many such stops is left to whoever reads tag by tag, which is slower and never quadratic.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from app.capture.fences import BARE_LINE, FENCE, INFO, OPENS, TO_CLOSER

_QUOTES = (('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"), ("『", "』"))
_SHORT = 100  # characters up to the end of a line; within them a lone run may look for its partner in vain
_LOOKS = 4  # how many lengths of the text may be read in vain
_STOPS = 3  # fences without an end; each is looked for to the end of the text
_FEWEST = 3  # a fence has as many marks
_ALL = (_FEWEST, _FEWEST)
_BLOCK = f"{FENCE}{INFO}{TO_CLOSER}"

# Not without bound and possessive: with groups inside, CPython before 3.12 loses count of them (python/cpython#101955).
AT_ONCE = "{0,5000}"

# Back-ticks, and the next run that is exactly as long on the same line.
SPAN = r"(?P<run>`++)[^`\n]*+(?:(?!(?P=run)(?!`))`++[^`\n]*+)*+(?P=run)(?!`)"
_RUN = re.compile("`+")

INFO_BEHIND = {"`": r"`*+[^`\n]*+(?:\n|\Z)", "~": ""}  # a back-tick in it, and the line is inline code
LOOK_CLOSER = ("far", "marked")  # last groups of `standing_alone` of which the pattern cannot say everything


def outside_code(text: str, tag: str, in_code: Callable[[int], bool], in_block: Callable[[int], bool]) -> Iterator[int]:
    """Where the unquoted tags outside closed blocks and code spans stand; the other two answer for one, tag by tag."""
    padded = "\n" + text  # so that the first line is one like the others
    at, looks, stops = 0, _LOOKS * len(padded), _STOPS
    bounds = None if BARE_LINE.search(padded) else _ALL
    while looks > 0:
        at = skip(_scanner(tag, bounds), padded, at)
        what = padded[at : at + 1]
        if not what:
            return
        if what == "\n":
            stops -= 1
            bounds = _bounds(padded, at + 1) if stops else _ALL
        elif what == "`":
            looks -= _line_end(padded, at) - at
            at = _end_of_run(padded, at)
        else:
            if stops or not in_block(at - 1):
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
def _scanner(tag: str, bounds: tuple[int, int] | None) -> re.Pattern[str]:
    """All that may stand before an unprotected tag."""
    first, unquoted_tag = re.escape(tag[0]), unquoted_source(tag)
    plain = rf"[^`\n{first}]*+"
    fences = _fences(*bounds, plain) if bounds else rf"\n {{0,3}}{_BLOCK}|\n(?! {{0,3}}{OPENS})"
    return re.compile(
        rf"{plain}(?:(?:\n+(?! {{0,3}}(?:```|~~~))|(?!{unquoted_tag}){first}|{fences}"
        rf"|{SPAN}|`++(?=[^\n]{{0,{_SHORT}}}+(?:\n|\Z))){plain}){AT_ONCE}"
    )


def _fences(ticks: int, tildes: int, plain: str) -> str:
    """Blocks and lines, where fences of that many back-ticks or tildes are known to be text."""
    dead = f" {{0,3}}(?:`{{{ticks}}}|~{{{tildes}}})"
    dead_line = rf"\n {{0,3}}(?:~{{{tildes}}}|`{{{ticks}}}`*+{plain}(?=\n|\Z))"
    return rf"{dead_line}|\n(?!{dead}) {{0,3}}{_BLOCK}|\n(?:(?={dead})|(?! {{0,3}}{OPENS}))"


def _bounds(padded: str, at: int) -> tuple[int, int]:
    """How many back-ticks, and how many tildes, are more than any line has that may close a block from there on."""
    ticks = tildes = _FEWEST
    for line in set(BARE_LINE.findall(padded, at)):
        marks = line.strip()
        if marks[0] == "`":
            ticks = max(ticks, len(marks) + 1)
        else:
            tildes = max(tildes, len(marks) + 1)
    return ticks, tildes


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _end_of_run(text: str, at: int) -> int:
    run = _RUN.match(text, at)
    return run.end() if run else at + 1
