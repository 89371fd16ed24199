"""How many requests an endpoint may have open, by a clock of the test's own."""

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.pressure import LONGEST_ASKED_S, LONGEST_PAUSE_S, Pressure


def warm(ceiling: int) -> Pressure:
    """One that has reached its ceiling, with an answer while all were open."""
    pressure = Pressure.open(ceiling)
    pressure.limit = ceiling
    pressure.answered(0.0, ceiling - 1)
    return pressure


def test_a_run_starts_with_thirty_two_and_doubles_each_second_in_which_all_were_open() -> None:
    pressure = Pressure.open(100)
    assert pressure.room(0, 0.0) == 32
    limits = []
    for tenth in range(60):
        pressure.room(pressure.limit, tenth / 10)
        limits.append(pressure.limit)
    assert [limits[second * 10] for second in range(6)] == [32, 64, 100, 100, 100, 100]


def test_answers_that_make_room_all_the_time_do_not_hold_the_doubling_up() -> None:
    """With many open one ends each moment: were that a limit that is not full, it would grow with the answers alone."""
    pressure = Pressure.open(1000)
    limits = []
    for tenth in range(41):
        now_s = tenth / 10
        pressure.answered(now_s, pressure.limit - 1)
        pressure.room(pressure.limit - 2, now_s)  # its place and the one that it added are free
        pressure.room(pressure.limit, now_s)  # and taken by the next claim
        limits.append(pressure.limit)
    assert [limits[second * 10] for second in range(5)] == [33, 86, 192, 404, 828]


def test_a_limit_that_was_full_long_ago_has_to_be_full_for_a_second_again() -> None:
    pressure = Pressure.open(100)
    pressure.room(32, 0.0)
    pressure.room(3, 1.0)
    pressure.room(32, 600.0)
    assert pressure.limit == 32
    pressure.room(32, 601.0)
    assert pressure.limit == 64


def test_a_limit_that_is_looked_at_now_and_then_and_always_full_doubles() -> None:
    """A claim for another server may take seconds, and as long nobody looks at this one."""
    pressure = Pressure.open(1000)
    limits = []
    for look in range(4):
        pressure.room(pressure.limit, look * 5.0)
        limits.append(pressure.limit)
    assert limits == [32, 64, 128, 256]


def test_room_that_nobody_uses_does_not_grow() -> None:
    pressure = Pressure.open(100)
    for second in range(60):
        assert pressure.room(3, float(second)) == 29


def test_a_refusal_keeps_what_was_taken_and_at_most_half() -> None:
    for others_open, limit in ((63, 32), (40, 32), (20, 20), (0, 1)):
        pressure = warm(64)
        pressure.refused(10.0, others_open, None)
        assert pressure.limit == limit
        assert pressure.room(0, 10.9) == 0
        assert pressure.room(0, 11.0) == limit


def test_a_burst_of_refusals_halves_once_and_ends_with_what_the_server_took() -> None:
    pressure = warm(64)
    for refusal in range(32):
        pressure.refused(10.0 + refusal / 100, 63 - refusal, None)
    assert (pressure.limit, pressure.worked) == (32, 32)
    assert pressure.room(32, 11.0) == 0


def test_a_burst_in_which_everything_is_refused_says_nothing_of_what_works() -> None:
    pressure = warm(64)
    for refusal in range(64):
        pressure.refused(10.0 + refusal / 100, 63 - refusal, None)
    assert (pressure.limit, pressure.worked) == (1, 64)


def test_after_a_refusal_the_limit_doubles_up_to_what_last_worked_and_grows_by_one_beyond() -> None:
    pressure = Pressure.open(64)
    pressure.limit = 40
    pressure.answered(0.0, 39)
    pressure.refused(0.0, 39, None)
    assert (pressure.limit, pressure.worked) == (20, 39)
    limits = []
    for second in range(1, 70):
        pressure.room(64, float(second))
        limits.append(pressure.limit)
    assert limits[:3] == [20, 39, 39]
    assert [limits[second - 1] for second in (29, 30, 59, 60)] == [39, 40, 40, 41]


def test_each_full_round_of_answers_beyond_what_worked_lets_one_more_in_up_to_the_ceiling() -> None:
    pressure = Pressure(ceiling=4, limit=2, worked=2)
    limits = []
    for answer in range(1, 10):
        pressure.answered(answer * 3.0, 0)
        limits.append(pressure.limit)
    assert limits == [2, 3, 3, 3, 4, 4, 4, 4, 4]


def test_rounds_of_short_answers_let_one_more_in_every_five_seconds() -> None:
    pressure = Pressure(ceiling=64, limit=2, worked=2)
    for tenth in range(1, 301):
        pressure.answered(tenth / 10, 0)
    assert pressure.limit == 8


def test_refusals_without_an_answer_between_them_close_for_longer_and_longer() -> None:
    pressure, now_s, pauses = warm(8), 0.0, []
    for _ in range(9):
        pressure.refused(now_s, 0, None)
        pauses.append(pressure.closed_until_s - now_s)
        now_s = pressure.closed_until_s
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    pressure.answered(now_s, 0)
    pressure.refused(now_s, 0, None)
    assert pressure.closed_until_s - now_s == 1


def test_what_the_server_asks_for_closes_it_and_ten_minutes_are_the_most() -> None:
    pressure = warm(8)
    pressure.refused(100.0, 4, 30.0)
    assert pressure.room(0, 129.9) == 0
    assert pressure.room(0, 130.0) == 4
    pressure.refused(200.0, 4, 86_400.0)
    assert pressure.room(0, 799.9) == 0
    assert pressure.room(0, 800.0) == 2


def test_a_shorter_request_does_not_open_what_a_longer_one_closed() -> None:
    pressure = warm(8)
    pressure.refused(0.0, 4, 60.0)
    pressure.refused(1.0, 4, 1.0)
    assert pressure.room(0, 59.0) == 0


def test_a_server_that_asks_for_no_pause_at_all_gets_a_growing_one() -> None:
    pressure, now_s = warm(8), 0.0
    for _ in range(10):
        pressure.refused(now_s, 0, 0.0)
        now_s = pressure.closed_until_s
    assert now_s > 180


def test_three_jobs_that_fail_in_a_row_make_it_ill_and_an_answer_between_them_does_not() -> None:
    pressure = warm(8)
    assert not pressure.failed(1.0, failed_before=False)
    assert not pressure.failed(1.0, failed_before=False)
    pressure.answered(1.0, 3)
    assert [pressure.failed(2.0, failed_before=False) for _ in range(4)] == [False, False, True, False]
    assert pressure.ill
    assert pressure.wants_answer
    assert pressure.room(0, 3.0) == 0
    assert pressure.look_at_s == 2.0


def test_jobs_that_have_failed_before_say_less_about_their_server() -> None:
    pressure = warm(8)
    assert [pressure.failed(1.0, failed_before=True) for _ in range(9)] == [False] * 8 + [True]


def test_looks_in_vain_come_after_longer_and_longer_pauses() -> None:
    pressure, now_s, pauses = warm(8), 0.0, []
    pressure.fell_ill(now_s, wants_answer=True)
    for _ in range(8):
        now_s = pressure.look_at_s
        pressure.looked_ill(now_s)
        pauses.append(pressure.look_at_s - now_s)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_server_that_answers_the_small_question_is_asked_one_job_and_is_ill_less_quickly() -> None:
    pressure = warm(8)
    pressure.fell_ill(0.0, wants_answer=True)
    pressure.looked_well()
    assert pressure.room(0, 0.0) == 1
    assert [pressure.failed(1.0, failed_before=False) for _ in range(6)] == [False] * 5 + [True]
    assert pressure.look_at_s > 1.0


def test_an_answer_that_was_under_way_makes_an_ill_server_well_but_not_one_that_is_gone() -> None:
    for wants_answer in (True, False):
        pressure = warm(8)
        pressure.fell_ill(0.0, wants_answer=wants_answer)
        pressure.answered(1.0, 0)
        assert pressure.ill is not wants_answer


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["answered", "refused", "failed", "ill", "look ill", "look well", "room"]),
        st.floats(0, 100),
        st.integers(0, 70),
        st.none() | st.floats(0, 1e9),
    )
)


def happen(pressure: Pressure, event: str, now_s: float, busy: int, retry_after_s: float | None) -> None:
    match event:
        case "answered":
            pressure.answered(now_s, busy)
        case "refused":
            pressure.refused(now_s, busy, retry_after_s, took_s=float(busy))
        case "failed":
            pressure.failed(now_s, failed_before=busy % 2 == 0, took_s=float(busy))
        case "ill":
            pressure.fell_ill(now_s, wants_answer=busy % 2 == 0)
        case "look ill" if pressure.ill:
            pressure.looked_ill(now_s)
        case "look well" if pressure.ill:
            pressure.looked_well()
        case _:
            pressure.room(busy, now_s)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 64), EVENTS)
def test_the_limit_stays_between_one_and_the_ceiling_and_every_server_gets_another_chance(
    ceiling: int, events: list[tuple[str, float, int, float | None]]
) -> None:
    pressure, now_s = Pressure.open(ceiling), 0.0
    for event, passed_s, busy, retry_after_s in events:
        now_s += passed_s
        happen(pressure, event, now_s, busy, retry_after_s)
        assert 1 <= pressure.limit <= ceiling
        assert 1 <= pressure.worked <= ceiling
        assert pressure.look_at_s <= now_s + LONGEST_PAUSE_S
        assert pressure.closed_until_s <= now_s + LONGEST_ASKED_S
    if pressure.ill:
        pressure.looked_well()
    assert pressure.room(0, now_s + LONGEST_ASKED_S) >= 1


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 64), EVENTS)
def test_a_server_that_answers_gets_back_all_of_its_room(
    ceiling: int, events: list[tuple[str, float, int, float | None]]
) -> None:
    pressure, now_s = Pressure.open(ceiling), 0.0
    for event, passed_s, busy, retry_after_s in events:
        now_s += passed_s
        happen(pressure, event, now_s, busy, retry_after_s)
    if pressure.ill:
        pressure.looked_well()
    now_s += LONGEST_ASKED_S
    for _ in range(ceiling):
        now_s += 5.0
        for _ in range(pressure.limit):
            pressure.answered(now_s, pressure.limit - 1)
    assert pressure.limit == ceiling
