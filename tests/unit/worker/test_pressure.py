"""How many requests an endpoint may have open, by a clock of the test's own."""

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.pressure import Pressure


def test_an_endpoint_starts_with_all_its_room() -> None:
    pressure = Pressure.open(8)
    assert [pressure.room(busy, 0.0) for busy in (0, 3, 8, 9)] == [8, 5, 0, 0]


def test_a_refusal_halves_the_limit_and_never_below_one() -> None:
    pressure = Pressure.open(8)
    limits = []
    for second in range(6):
        pressure.refused(float(second), None)
        limits.append(pressure.limit)
    assert limits == [4, 2, 1, 1, 1, 1]


def test_a_burst_of_refusals_halves_once_a_second() -> None:
    pressure = Pressure.open(64)
    for refusal in range(50):
        pressure.refused(100.0 + refusal / 100, None)
    assert pressure.limit == 32
    pressure.refused(101.0, None)
    assert pressure.limit == 16


def test_each_full_round_of_answers_lets_one_more_in_up_to_the_ceiling() -> None:
    pressure = Pressure.open(4)
    pressure.refused(0.0, None)
    assert pressure.limit == 2
    limits = []
    for _ in range(9):
        pressure.answered()
        limits.append(pressure.limit)
    assert limits == [2, 3, 3, 3, 4, 4, 4, 4, 4]


def test_a_refusal_begins_the_round_anew() -> None:
    pressure = Pressure.open(8)
    pressure.refused(0.0, None)
    for _ in range(3):
        pressure.answered()
    pressure.refused(5.0, None)
    pressure.answered()
    assert pressure.limit == 2


def test_what_the_server_asks_for_closes_it_and_ten_minutes_are_the_most() -> None:
    pressure = Pressure.open(8)
    pressure.refused(100.0, 30.0)
    assert pressure.room(0, 129.9) == 0
    assert pressure.room(0, 130.0) == 4
    pressure.refused(200.0, 86_400.0)
    assert pressure.room(0, 799.9) == 0
    assert pressure.room(0, 800.0) == 2


def test_a_shorter_request_does_not_open_what_a_longer_one_closed() -> None:
    pressure = Pressure.open(8)
    pressure.refused(0.0, 60.0)
    pressure.refused(1.0, 1.0)
    assert pressure.room(0, 59.0) == 0


EVENTS = st.lists(st.one_of(st.just("answered"), st.tuples(st.floats(0, 5), st.none() | st.floats(0, 1e9))))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 64), EVENTS)
def test_the_limit_stays_between_one_and_the_ceiling_and_the_endpoint_opens_again(
    ceiling: int, events: list[str | tuple[float, float | None]]
) -> None:
    pressure, now_s = Pressure.open(ceiling), 0.0
    for event in events:
        if isinstance(event, str):
            pressure.answered()
        else:
            now_s += event[0]
            pressure.refused(now_s, event[1])
        assert 1 <= pressure.limit <= ceiling
        assert pressure.room(0, now_s + 600.0) == pressure.limit
