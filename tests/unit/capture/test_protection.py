"""Which tags are only mentioned: examples, and the fast code against a plain one that follows the rules by the word."""

import re
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.capture import protection
from app.capture.fences import Fences
from app.capture.protection import Protection
from app.capture.spans import Line
from app.capture.tools import count_calls, has_markup

TAG = "</think>"
CALL = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{}<|tool_call_end|>"

markdown = st.lists(
    st.sampled_from(
        (
            "`",
            "``",
            "```",
            "````",
            "~~~",
            "~~~~",
            "\n",
            "\n",
            "\n",
            "\r\n",
            "\r",
            " ",
            "   ",
            "    ",
            "\t",
            "a",
            "py",
            TAG,
        )
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        "`</think>`",
        "`` ` </think> ``",
        '"</think>"',
        "『</think>』",
        "«</think>»",
        "```\n</think>\n```",
        "   ~~~ a`b\n</think>\n~~~~  ",
        "```\r\n</think>\r\n```\r\n",
        "````\n```\n</think>\n```\n````",
        "```</think>\n```",
        CALL.format("f:0", '{"a": "</think>"}'),
        CALL.format("3", '{"a": "<|tool_call_end|> </think>"}'),
        CALL.format("f:0", "{'a': </think>}"),
    ],
)
def test_a_mention_is_protected(text: str) -> None:
    assert Protection(text).first_unprotected(TAG) == -1


@pytest.mark.parametrize(
    "text",
    [
        "</think>",
        "`a\n</think>`",
        "`</think>``",
        "\"</think>'",
        "”</think>“",
        '" </think> "',
        "```\n</think>\n~~~",
        "````\n</think>\n```",
        "    ```\n</think>\n```",
        "```\n</think>\n``` x",
        "``` a`b\n</think>\n```x",
        "```\na\n```\n</think>\n```\nb\n```",
        CALL.format("f 0", '{"a": "b</think>"}'),
        CALL.format("", '{"a": "b</think>"}'),
        CALL.format("f:0", '["b</think>"]'),
        CALL.format("f:0", '{"a": "</think>').replace("<|tool_call_end|>", ""),
        "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{lost </think> " + CALL.format("g:1", "{}"),
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert Protection(text).first_unprotected(TAG) == text.index(TAG)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", None),
        ("no call", None),
        (CALL.format("f:0", "{}") * 3, 3),
        (CALL.format("f:0", '{"a": "}<|tool_call_end|><|tool_call_begin|>"}'), 1),
        (CALL.format("f:0", '{"a": "lo') + CALL.format("g:1", "{}"), 1),
        (CALL.format("f:0", "{"), None),
        (CALL.format("f:0", "{} "), None),
    ],
)
def test_well_formed_calls_are_counted(text: str, calls: int | None) -> None:
    assert count_calls(text) == calls


def test_an_end_marker_alone_is_no_tool_markup() -> None:
    assert not has_markup("a<|tool_calls_section_end|><|tool_call_end|>")
    assert has_markup("a<|tool_call_argument_begin|>")


@given(markdown)
def test_fences_are_those_of_a_plain_reading(text: str) -> None:
    covered = covered_by_fences(text)
    fences = Fences(text)
    assert [fences.block_end(at) > at for at in range(len(text))] == covered


@given(markdown, st.data())
def test_a_rest_leaves_a_fence_open_as_in_a_plain_reading(text: str, data: st.DataObject) -> None:
    fences = Fences(text)
    for at in sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4))):
        assert fences.left_open_after(at) == leaves_fence_open(text[at:])


@given(markdown.map(lambda text: text.replace("\n", "")), st.data())
def test_code_spans_are_those_of_a_plain_reading(line: str, data: st.DataObject) -> None:
    inside, pairs = plain_spans(line)
    fast = Line(line, 0, len(line))
    letters = [at for at, character in enumerate(line) if character != "`"]
    for at in sorted(data.draw(st.lists(st.sampled_from(letters), max_size=6))) if letters else []:
        assert (fast.span_end(at) > at) == inside[at]
        assert fast.paired_from(at) == plain_spans(line[at:])[1]
    assert fast.paired_from(0) == pairs


LINES = (
    *(
        "</think>```\n",
        "`</think>```\n",
        "```</think>```\n",
        "\n```\n",
        "````\n",
        "</think>````\n",
        "~~~\n",
        "</think>~~~\n",
    ),
    *("\n", "a", "`</think>`\n", "`</think>`" + "x" * 120, "``", "`</think>` `" + "y" * 101 + "\n", "```x\n", "\r\n"),
    *("   ```\n", "`", "~~~~\n", "</think>   ```\r\n", "`</think> ``` `\n"),
)


@given(st.lists(st.sampled_from(LINES), max_size=20).map("".join))
@example(
    "\n```\n`</think>`" + "x" * 120 + "`</think>```\n\n```\n"
)  # a fence for the rest of a line of unpaired back-ticks
@example("````x\n~~~~\n~~~x\n```x\n</think>\n```\n</think>")  # two fences without an end before a block
@example("`````x\n````\n```\n</think>\n```\n</think>\n~~~~\n</think>\n~~~")
def test_the_control_tag_is_that_of_a_plain_reading(text: str) -> None:
    found = Protection(text).control(TAG)
    assert (found and (found.at, found.protected)) == plain_control(text)


@given(st.lists(st.sampled_from(LINES), max_size=20).map("".join), st.integers(0, 6))
def test_code_is_looked_for_in_the_lines_before_one_mark_too_many(text: str, most: int) -> None:
    marks = [found.start() for found in re.finditer("`+|~~~+", text)]
    end = text.rfind("\n", 0, marks[most]) + 1 if len(marks) > most else len(text)
    with patch.multiple(protection, _FEWEST_MARKS=most, _CHARACTERS_EACH=10**9):
        found = Protection(text).control(TAG)
    behind = text.find(TAG, end)
    expected = plain_control(text[:end])
    if behind >= 0 and (expected is None or expected[1]):
        expected = (behind, False)
    assert (found and (found.at, found.protected)) == expected


def plain_control(text: str) -> tuple[int, bool] | None:
    tags = [found.start() for found in re.finditer(TAG, text)]
    covered = covered_by_fences(text)
    for at in tags:
        start = text.rfind("\n", 0, at) + 1
        if not covered[at] and not plain_spans(text[start:].split("\n")[0])[0][at - start]:
            return at, False
    for at in tags:
        rest = text[at + len(TAG) :]
        line = rest.split("\n")[0]
        if not leaves_fence_open(rest) and (opening(line) or plain_spans(line)[1]):
            return at, True
    return None


OPENING = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)


def opening(line: str) -> tuple[str, str] | None:
    found = OPENING.fullmatch(line)
    if not found or (found[1][0] == "`" and "`" in found[2]):
        return None
    return found[1], found[2]


def closes(line: str, fence: str) -> bool:
    found = OPENING.fullmatch(line)
    return bool(found and found[1].startswith(fence) and re.fullmatch(r"[ \t]*\r?", found[2]))


def closing_line(lines: list[str], first: int) -> int | None:
    found = opening(lines[first])
    if found is None:
        return None
    return next((at for at in range(first + 1, len(lines)) if closes(lines[at], found[0])), -1)


def covered_by_fences(text: str) -> list[bool]:
    lines = text.split("\n")
    covered, at = [False] * len(lines), 0
    while at < len(lines):
        closer = closing_line(lines, at)
        if closer is not None and closer > 0:
            covered[at : closer + 1] = [True] * (closer + 1 - at)
            at = closer
        at += 1
    spread: list[bool] = []
    for number, line in enumerate(lines):
        spread += [covered[number]] * len(line)
        last_of_block = covered[number] and not (number + 1 < len(lines) and covered[number + 1])
        spread += [covered[number] and not (last_of_block or is_border(lines, covered, number))]
    return spread[: len(text)]


def is_border(lines: list[str], covered: list[bool], number: int) -> bool:
    """Whether a block ends with this line and the next starts on the following one."""
    at = 0
    while at <= number:
        closer = closing_line(lines, at)
        if closer is not None and closer > 0:
            if closer == number:
                return True
            at = closer
        at += 1
    return False


def leaves_fence_open(text: str) -> bool:
    lines, at = text.split("\n"), 0
    while at < len(lines):
        closer = closing_line(lines, at)
        if closer == -1:
            return True
        at = (closer or at) + 1
    return False


def plain_spans(line: str) -> tuple[list[bool], bool]:
    """Which characters stand in a code span, and whether every run is part of one."""
    runs = [found.span() for found in re.finditer("`+", line)]
    inside, paired, run = [False] * len(line), True, 0
    while run < len(runs):
        start, end = runs[run]
        partner = next((j for j in range(run + 1, len(runs)) if runs[j][1] - runs[j][0] == end - start), None)
        if partner is None:
            paired = False
        else:
            inside[end : runs[partner][0]] = [True] * (runs[partner][0] - end)
            run = partner
        run += 1
    return inside, paired
