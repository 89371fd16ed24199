"""Commands in sentences are code, whatever else stands in them, and nothing of them is markup."""

import pytest

from app.web.rendering import render
from app.web.typeset import spans


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("", []),
        ("no command", [("no command", False)]),
        ("See `a b`.", [("See ", False), ("a b", True), (".", False)]),
        ("`a` `b`", [("a", True), (" ", False), ("b", True)]),
        ("one ` alone", [("one ` alone", False)]),
        ("`a` and ` alone", [("a", True), (" and ` alone", False)]),
        ("``", [("``", False)]),
        ("`a\nb`", [("`a\nb`", False)]),
    ],
)
def test_what_stands_between_two_backticks_is_code(sentence: str, found: list[tuple[str, bool]]) -> None:
    assert [("".join(one.text for one in span.pieces), span.code) for span in spans(sentence)] == found


def test_the_name_of_an_option_is_a_piece_of_its_own() -> None:
    (before, code, after) = spans("Use `x --min-free-disk 2GiB -o y-z --a=b` with --allowed-host, not 1-2 or a--b.")
    assert [one.text for one in code.pieces if one.option] == ["--min-free-disk", "-o", "--a"]
    assert [one.text for one in after.pieces if one.option] == ["--allowed-host"]
    assert not [one for one in before.pieces if one.option]


def test_no_word_is_lost_and_a_long_one_can_be_broken() -> None:
    sentence = "`--" + "x" * 500 + "` -- `` ` --y"
    assert "".join(one.text for span in spans(sentence) for one in span.pieces) == sentence.replace("`", "", 2)
    assert [one.text for span in spans(sentence) for one in span.pieces if one.option] == ["--y"]


def test_every_piece_is_escaped_and_made_visible() -> None:
    detail = "`<script>alert(1)</script> --x \x1b` </code> <b> \u202e"
    page = render("errors/page.html", frame=_Frame(), title="t", detail=detail, status=400, crumbs=()).decode()
    assert (
        '<code>&lt;script&gt;alert(1)&lt;/script&gt; <span class="option">--x</span> \\x1b</code>'
        " &lt;/code&gt; &lt;b&gt; \\u202e</p>"
    ) in page


class _Frame:
    """A frame in which nothing stands."""

    root = title = said = say = as_of = store_path = ""
    sections = facts = ()
    endpoints = None
    live = read_only = signed_in = False
