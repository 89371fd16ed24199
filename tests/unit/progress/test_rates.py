"""How fast, and until when: never from too few answers, never from before the start."""

from app.progress.eta import Eta, Situation, Word, eta, percentile
from app.progress.rates import MINUTE_MS, Minute, failed_within, five_minute_counts, rate, together

NOW = 1000 * MINUTE_MS


def minutes(*done: int, until: int = 1000) -> list[Minute]:
    """Buckets that end with the minute before `until`."""
    first = until - len(done)
    return [Minute(first + place, done=count, tokens=100 * count) for place, count in enumerate(done)]


def test_the_rate_is_that_of_the_last_quarter_of_an_hour() -> None:
    found = rate(minutes(*[500] * 60, *[2] * 15), NOW, None)
    assert (found.completions, found.span_ms) == (30, 15 * MINUTE_MS)
    assert (found.per_hour, found.tokens_per_second) == (120, 3)


def test_what_was_finished_before_the_start_does_not_count() -> None:
    found = rate(minutes(*[500] * 9, *[10] * 6), NOW, NOW - 6 * MINUTE_MS)
    assert (found.completions, found.span_ms, found.per_hour) == (60, 6 * MINUTE_MS, 600)


def test_a_start_within_a_minute_leaves_that_minute_out() -> None:
    found = rate(minutes(99, *[10] * 5), NOW, NOW - 6 * MINUTE_MS + 1)
    assert (found.completions, found.span_ms) == (50, 5 * MINUTE_MS)


def test_nineteen_answers_are_no_rate_and_twenty_are_one() -> None:
    assert rate(minutes(19, 0, 0, 0, 0), NOW, None).per_hour is None
    assert rate(minutes(20, 0, 0, 0, 0), NOW, None).per_hour == 80


def test_less_than_five_minutes_are_no_rate() -> None:
    assert rate(minutes(100, 100, 100, 100), NOW, NOW - 4 * MINUTE_MS).per_hour is None
    assert rate(minutes(100, 100, 100, 100, 100), NOW, NOW - 5 * MINUTE_MS).per_hour == 6000


def test_a_start_that_lies_ahead_gives_an_empty_span() -> None:
    assert rate(minutes(100), NOW, NOW + 10 * MINUTE_MS).span_ms == 0


def test_rates_are_cut_and_never_rounded_up() -> None:
    assert rate(minutes(*[0] * 14, 29), NOW, None).per_hour == 116
    assert rate(minutes(*[0] * 14, 8_999), NOW, None).tokens_per_second == 999


def test_five_minute_counts_go_back_two_hours_and_hold_whole_steps_only() -> None:
    counts = five_minute_counts(minutes(*[1] * 200), NOW + 30_000, None)
    assert counts == [5] * 23
    assert five_minute_counts(minutes(*[1] * 200), NOW, NOW - 12 * MINUTE_MS) == [5, 5]
    assert five_minute_counts([], NOW, NOW - 4 * MINUTE_MS) == []


def test_a_pause_shows_as_steps_of_nothing() -> None:
    assert five_minute_counts(minutes(*[2] * 5, *[0] * 5), NOW, NOW - 10 * MINUTE_MS) == [0, 10]


def test_failures_of_the_last_hour() -> None:
    buckets = [Minute(930, failed=5), Minute(940, failed=3), Minute(999, failed=1)]
    assert failed_within(buckets, NOW, 60 * MINUTE_MS) == 4


def test_minutes_of_several_datasets_are_summed() -> None:
    assert together([minutes(1, 2), minutes(10)]) == [Minute(998, 1, 0, 100), Minute(999, 12, 0, 1200)]


def situation(**changed: object) -> Situation:
    values = {"total": 1000, "remaining": 100, "held_by": (), "workers": 1, "rate_known": True} | changed
    return Situation(**values)  # type: ignore[arg-type]


def test_the_range_goes_from_the_fast_times_to_the_slow_ones() -> None:
    found = eta(situation(), [10, 20, 30, 40, 50])
    assert found == Eta(None, 100 * 5 * MINUTE_MS // 40, 100 * 5 * MINUTE_MS // 10)


def test_slow_times_without_any_answer_leave_the_end_open() -> None:
    assert eta(situation(), [0, 0, 10]).latest_ms is None


def test_a_word_stands_where_there_is_no_time() -> None:
    words = {
        Word.EMPTY: situation(total=0, remaining=0),
        Word.COMPLETE: situation(remaining=0, held_by=("gate",)),
        Word.PAUSED: situation(held_by=("person",)),
        Word.HELD: situation(held_by=("person", "gate")),
        Word.NO_WORKER: situation(workers=0),
        Word.MEASURING: situation(rate_known=False),
    }
    assert {word: eta(found, [10]).word for word, found in words.items()} == {word: word for word in words}


def test_percentiles_are_values_that_occurred() -> None:
    assert [percentile([4, 1, 3, 2, 5], percent) for percent in (0, 20, 21, 80, 100)] == [1, 1, 2, 4, 5]
    assert percentile([7], 20) == percentile([7], 80) == 7
    assert percentile([], 50) == 0
