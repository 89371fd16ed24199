"""Lines fit a terminal, and nothing is cut in the middle of a number, a name or a command."""

import re

import pytest

from worker import layout

FACTS = ["12,900/60,000 29.0 %", "cap 2,871/2,888 99.4 %", "118 /h", "902 tok/s", "ETA 2 d 12 h - 3 d 4 h"]
TEXT = (
    "ALARM lost_any B1_glaive since 2026-03-01 14:02:31 UTC: 19 of 2,888 answers, 0.6 %, came without. "
    "See `thinkledger samples B1_glaive --verdict missing` and `--verdict leaked`."
)


@pytest.mark.parametrize("width", [20, 30, 40, 79, 80, 120])
def test_facts_are_whole_and_lines_fit(width: int) -> None:
    lines = list(layout.facts(FACTS, width, "B1_glaive  ", "    "))
    assert " ".join(" ".join(lines).split()) == "B1_glaive " + " ".join(FACTS)
    assert all(len(line) <= width for line in lines[1:])
    if width >= 40:
        assert all(any(fact in line for line in lines) for fact in FACTS)
    numbers = re.findall(r"[\d,]+(?:/[\d,]+)?", " ".join(FACTS))
    assert re.findall(r"[\d,]+(?:/[\d,]+)?", "\n".join(lines))[1:] == numbers


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_sentence_breaks_between_words_and_never_in_a_command(width: int) -> None:
    lines = list(layout.sentence(TEXT, width, "", "  "))
    assert " ".join(" ".join(lines).split()) == TEXT
    assert any("`thinkledger samples B1_glaive --verdict missing`" in line for line in lines)
    assert any("0.6 %" in line for line in lines)
    assert all(len(line) <= width for line in lines if "`" not in line)


def test_a_pipe_gets_one_line_a_record() -> None:
    assert list(layout.facts(FACTS, None, "B1  ", "    ")) == ["B1  " + "  ".join(FACTS)]
    assert list(layout.sentence(TEXT, None)) == [TEXT]
