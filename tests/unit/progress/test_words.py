"""What is shown: cut, never rounded up; safe, whatever is stored."""

import pytest

from app.model.errors import UsageError
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress import wording
from app.progress.display import one_line, visible
from app.progress.eta import Eta, Word
from app.progress.overview import Liveness, Pace, Tally, liveness, sum_of
from app.progress.rates import MINUTE_MS, Rate
from app.progress.samples import Filter, Place

HOUR, DAY = 60 * MINUTE_MS, 24 * 60 * MINUTE_MS


def tally(total: int = 10, done: int = 6, **expected: int) -> Tally:
    verdicts = {Verdict(name): count for name, count in expected.items()} or {Verdict.CAPTURED_FIELD: done}
    return Tally(total, {JobState.DONE: done, JobState.READY: total - done}, verdicts, {}, 0, 0)


@pytest.mark.parametrize(
    ("span_ms", "words"),
    [
        (59_999, "under 1 min"),
        (MINUTE_MS, "1 min"),
        (HOUR - 1, "59 min"),
        (HOUR, "1 h"),
        (3 * HOUR + 20 * MINUTE_MS, "3 h 20 min"),
        (2 * DAY + 12 * HOUR + 59 * MINUTE_MS, "2 d 12 h"),
        (3 * DAY, "3 d"),
    ],
)
def test_durations_have_two_units_at_most(span_ms: int, words: str) -> None:
    assert wording.duration(span_ms) == words


def test_an_eta_is_a_range_an_open_end_or_a_word() -> None:
    assert wording.eta(Eta(None, 3 * DAY, 4 * DAY)) == "3 d - 4 d"
    assert wording.eta(Eta(None, 3 * DAY, 3 * DAY + 1)) == "3 d"
    assert wording.eta(Eta(None, 3 * DAY, None)) == "over 3 d"
    assert wording.eta(Eta(Word.PAUSED)) == "paused"


def test_measuring_says_what_is_missing() -> None:
    assert wording.per_hour(Rate(7, 10 * MINUTE_MS, 0)) == "measuring 7/20"
    assert wording.per_hour(Rate(70, 3 * MINUTE_MS, 0)) == "measuring 3/5 min"
    assert wording.per_hour(Rate(1200, 15 * MINUTE_MS, 0)) == "4,800 /h"


MEASURING, KNOWN = Rate(7, 3 * MINUTE_MS, 0), Rate(1200, 15 * MINUTE_MS, 900)


def test_beside_a_rate_stands_of_what_it_is_measured() -> None:
    waits = "known after 20 answers and 5 min of running; so far 7 in 3 min"
    assert wording.rate_note(Pace(MEASURING, Eta(Word.MEASURING), 0)) == waits
    assert wording.rate_note(Pace(KNOWN, Eta(None, DAY, DAY), 0)) == "1,200 answers in the last 15 min"
    assert wording.rate_note(Pace(KNOWN, Eta(Word.STALLED), 0)) == "no answer comes now"
    for word in (Word.PAUSED, Word.COMPLETE, Word.NO_WORKER):
        assert wording.rate_note(Pace(KNOWN, Eta(word), 0)) == "nothing is asked now"


def test_beside_an_eta_stands_what_is_to_go_and_how_it_is_reckoned() -> None:
    known = Pace(KNOWN, Eta(None, DAY, 2 * DAY), 0)
    assert wording.eta_note(known, 7100) == "7,100 jobs to go, at the slow and the fast pace of the last 2 h"
    assert wording.eta_note(Pace(MEASURING, Eta(Word.MEASURING), 0), 60) == "60 jobs to go; known when the rate is"
    assert wording.eta_note(Pace(MEASURING, Eta(Word.COMPLETE), 0), 0) == "0 jobs to go"
    stalled = wording.eta_note(Pace(KNOWN, Eta(Word.STALLED), 0), 9)
    assert stalled == "9 jobs to go; requests are open, and no answer came for long"


def test_a_share_of_almost_all_is_not_shown_as_all() -> None:
    found = tally(total=10_000, done=9_999, captured_field=9_998, missing=1)
    assert (found.progress.percent, str(found.progress)) == ("99.9 %", "9,999/10,000")
    assert (found.capture.percent, str(found.capture)) == ("99.9 %", "9,998/9,999")


def test_an_empty_denominator_is_a_dash() -> None:
    assert tally(total=0, done=0).capture.percent == "-"


def test_truncated_answers_have_a_share_of_their_own() -> None:
    found = tally(done=6, captured_field=3, missing=1, truncated=2)
    assert (str(found.capture), str(found.truncated), found.lost) == ("3/4", "2/6", 1)


def test_states_that_do_not_make_the_total_are_a_mismatch() -> None:
    assert tally().adds_up
    lost = Tally(10, {JobState.DONE: 6, JobState.READY: 3}, {Verdict.MISSING: 6}, {}, 0, 0)
    assert not lost.adds_up
    assert "9/10 MISMATCH" in wording.states(lost)
    assert "add up to 9" in str(wording.mismatch(lost))


def test_done_jobs_without_a_verdict_are_a_mismatch() -> None:
    assert not tally(done=6, captured_field=5).adds_up


def test_a_mismatch_of_one_dataset_is_one_of_the_sum() -> None:
    short = Tally(10, {JobState.READY: 9}, {}, {}, 0, 0)
    assert not sum_of([tally(), short]).adds_up


def test_a_worker_is_late_after_two_heartbeats_and_dead_after_its_time_to_live() -> None:
    now = 1_000_000
    seen = [liveness("live", now - silent, 60_000, now) for silent in (0, 30_000, 30_001, 60_000, 60_001)]
    assert seen == [Liveness.LIVE, Liveness.LIVE, Liveness.LATE, Liveness.LATE, Liveness.DEAD]
    for silent in (0, 30_001, 60_001):
        assert liveness("live", now - silent, 60_000, now, gone=True) is Liveness.GONE
    assert liveness("dead", now, 60_000, now, gone=True) is Liveness.DEAD
    assert liveness("stopped", 0, 60_000, now) is Liveness.STOPPED
    assert liveness("dead", now, 60_000, now) is Liveness.DEAD


def test_nothing_stored_can_steer_a_terminal_or_a_page() -> None:
    assert visible("a\x1b[31m\x9b\r\x00b") == "a\\x1b[31m\\x9b\\x0d\\x00b"
    assert visible("\ud800x\u202eevil\u2066") == "\\ud800x\\u202eevil\\u2066"
    assert visible("line\n\ttext") == "line\n\ttext"
    assert one_line("line\n\ttext") == "line\\n\\ttext"


def test_what_is_shown_can_always_be_encoded() -> None:
    everything = "".join(chr(code) for code in range(0x110000))
    assert visible(everything).encode()


def test_ordinary_text_in_any_script_is_untouched() -> None:
    text = "naïve 中文 עברית العربية 🙂 <think>"
    assert visible(text) == text


@pytest.mark.parametrize("wanted", [{"state": "Done"}, {"verdict": "lost"}, {"cause": "bad"}])
def test_an_unknown_filter_value_is_an_error_that_lists_the_known_ones(wanted: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="Known:"):
        Filter(**wanted)


def test_a_place_in_a_list_survives_its_text() -> None:
    assert Place.parse(str(Place(17, 2))) == Place(17, 2)


@pytest.mark.parametrize("text", ["", "1", "1.", "x.1", "-1.0", "1.0.0", "\u0661.0"])
def test_anything_else_is_no_place(text: str) -> None:
    with pytest.raises(UsageError):
        Place.parse(text)
