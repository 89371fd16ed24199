"""Panels of a dataset's page: each adds up to what it is a part of."""

import pytest

from app.capture import Asked, Form, read_body
from app.model.found import Found
from app.model.states import JobState
from app.model.verdicts import Fraction, Verdict
from app.progress.excerpt import excerpt
from app.progress.histogram import histogram
from app.progress.overview import Tally
from app.progress.reassembly import Joined, Reassembly, reassemble
from app.progress.series import Point, Span, filled_steps, fitting
from app.progress.triage import ROWS, Cell, triage
from app.progress.verdict_table import verdict_table
from tests.support.filled import chat


def test_a_bin_ends_where_the_next_one_begins() -> None:
    assert histogram({}, 0).bins[0].least == 1
    assert [(one.least, one.most) for one in histogram({}, 0).bins[1:3]] == [(128, 255), (256, 511)]
    assert histogram({}, 0).bins[-1].most is None


def test_bins_and_those_without_reasoning_are_the_done_jobs() -> None:
    found = histogram({1: 3, 4096: 4}, 10)
    assert (found.jobs, found.without) == (7, 3)
    assert {one.least: one.jobs for one in found.bins if one.jobs} == {1: 3, 4096: 4}


def test_the_matrix_has_a_row_for_each_finish_reason_the_most_frequent_first() -> None:
    cells = [Cell("length", Found.NEITHER, 2), Cell("stop", Found.TAG, 5), Cell("stop", Found.FIELD, 1)]
    found = triage([*cells, Cell("gone", Found.TAG, 0)], 9)
    assert [(row.finish, row.jobs) for row in found.rows] == [("stop", 6), ("length", 2)]
    assert found.rows[0].cells == {Found.FIELD: 1, Found.TAG: 5, Found.BOTH: 0, Found.NEITHER: 0}
    assert found.others == 1


def test_a_server_that_invents_finish_reasons_does_not_fill_the_page() -> None:
    found = triage([Cell(f"reason {number}", Found.TAG, 1) for number in range(200)], 200)
    assert (len(found.rows), found.others) == (ROWS, 200 - ROWS)


def test_verdicts_and_their_exclusions_are_the_done_jobs() -> None:
    tally = Tally(
        total=40,
        states={JobState.DONE: 36},
        expected={Verdict.CAPTURED_FIELD: 10, Verdict.MISSING: 2, Verdict.TRUNCATED: 5, Verdict.NONE_EXPECTED: 1},
        unexpected={Verdict.NONE_EXPECTED: 17, Verdict.LEAKED: 1},
        late=0,
        tokens=0,
    )
    table = verdict_table(tally)
    assert (table.capture, table.truncated) == (Fraction(10, 12), Fraction(5, 18))
    assert (table.done, table.unexpected, table.other) == (36, 18, 1)
    assert table.capture.whole + table.truncated.part + table.unexpected + table.other == table.done


def test_a_step_without_an_answer_is_a_zero() -> None:
    steps = filled_steps([Point(600_000, done=4)], 300_000, 1_000_000, 300_000)
    assert [(step.start_ms, step.done) for step in steps] == [(300_000, 0), (600_000, 4), (900_000, 0)]


@pytest.mark.parametrize("span", list(Span))
def test_a_chart_has_a_bounded_number_of_whole_steps(span: Span) -> None:
    assert span.step_ms % 60_000 == 0
    assert span.span_ms % span.step_ms == 0
    assert span.span_ms // span.step_ms <= 336


@pytest.mark.parametrize(
    ("minutes", "span"),
    [(0, "10min"), (10, "10min"), (11, "1h"), (61, "6h"), (361, "24h"), (1441, "7d"), (10_081, "30d"), (99_999, "30d")],
)
def test_a_chart_shows_the_whole_run_in_the_shortest_span(minutes: int, span: str) -> None:
    assert fitting(minutes * 60_000) is Span(span)


def test_an_excerpt_ends_between_two_characters() -> None:
    text = "a" + "\u20ac" * 10
    for limit in range(1, 40):
        found = excerpt(text, limit)
        assert text.startswith(found.text)
        assert found.shown_bytes == len(found.text.encode())
        assert limit - 3 < found.shown_bytes <= limit or not found.cut
        assert found.bytes == 31


def test_an_excerpt_of_odd_texts_shows_them() -> None:
    assert excerpt("x\ud800y").text == "x\ud800y"
    assert excerpt(b"x\xffy").text == "x\\xffy"
    assert excerpt(b"\xff" * 10, 3).shown_bytes == 3


def _joined(body: bytes, asked: Asked | None = None) -> Reassembly:
    about = asked or Asked()
    reading = read_body(200, body, about)
    parts = None if reading.parts is None else f'["{reading.parts[0]}", "{reading.parts[1]}", "{reading.parts[3]}"]'
    return reassemble(body, about.form, reading.verdict, parts, reading.reasoning, reading.content)


def test_a_split_answer_joins_to_the_servers_text_and_says_where_it_was_split() -> None:
    body = chat("caf\u00e9 `</think>` is a tag</think>answer </think>", tokens="</x>")
    found = _joined(body)
    assert (found.joined, found.tag, found.tag_at) == (Joined.EXACT, "</think>", len("caf\u00e9 `</think>` is a tag"))
    assert found.raw_tag_at is not None
    assert body[found.raw_tag_at :].startswith(b"</think>answer")


def test_a_tag_that_the_body_writes_in_another_way_has_no_place_in_it() -> None:
    body = chat("thought</think>answer").replace(b"</think>", b"\\u003c/think>")
    found = _joined(body)
    assert (found.joined, found.tag_at, found.raw_tag_at) == (Joined.EXACT, 7, None)


def test_parts_that_do_not_join_say_where_they_differ() -> None:
    body = chat("thought</think>answer")
    found = reassemble(body, Form.CHAT, "split_from_content", '["", "", "</think>"]', "thought", "anser")
    assert (found.joined, found.differs_at) == (Joined.DIFFERS, len("thought</think>ans"))
    short = reassemble(body, Form.CHAT, "split_from_content", '["", "", "</think>"]', "thought", None)
    assert short.differs_at == len("thought</think>")


@pytest.mark.parametrize(
    ("body", "joined"),
    [
        (chat("answer", reasoning="thought"), Joined.BY_SERVER),
        (chat("answer"), Joined.NOTHING),
        (b"<html>", Joined.NOTHING),
    ],
)
def test_what_we_did_not_split_is_not_called_exact(body: bytes, joined: Joined) -> None:
    assert _joined(body).joined is joined


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (chat("answer", reasoning="thought"), Found.FIELD),
        (chat("thought</think>answer"), Found.TAG),
        (chat("thought</think>answer", reasoning="thought"), Found.BOTH),
        (chat("answer"), Found.NEITHER),
        (chat("answer", reasoning="  "), Found.NEITHER),
        (chat(None, reasoning="thought", finish="length"), Found.FIELD),
        (b"<html>", None),
    ],
)
def test_a_reading_tells_where_reasoning_was_found(body: bytes, found: Found | None) -> None:
    assert read_body(200, body, Asked()).found is found
