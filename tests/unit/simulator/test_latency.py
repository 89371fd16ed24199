"""How long answers take."""

import hashlib
from statistics import median

import pytest

from worker.simulator.latency import parse_latency
from worker.simulator.timeline import Timeline

DIGESTS = [hashlib.sha256(str(number).encode()).digest() for number in range(2000)]


def test_plain_numbers_and_fixed_are_the_same_for_all() -> None:
    assert {parse_latency("0")(digest) for digest in DIGESTS} == {0.0}
    assert {parse_latency("fixed:0.2")(digest) for digest in DIGESTS} == {0.2}


def test_uniform_stays_between_its_ends_and_fills_the_middle() -> None:
    seconds = [parse_latency("uniform:0.1,0.5")(digest) for digest in DIGESTS]
    assert 0.1 <= min(seconds) < 0.11
    assert 0.49 < max(seconds) <= 0.5
    assert 0.28 < median(seconds) < 0.32


def test_lognormal_has_the_median_it_names_and_a_long_tail() -> None:
    seconds = [parse_latency("lognormal:2,1")(digest) for digest in DIGESTS]
    assert 1.8 < median(seconds) < 2.2
    assert max(seconds) > 20
    assert min(seconds) > 0


def test_a_prompt_takes_the_same_time_every_time() -> None:
    one, two = parse_latency("lognormal:2,1"), parse_latency("lognormal:2,1")
    assert [one(digest) for digest in DIGESTS] == [two(digest) for digest in DIGESTS]


@pytest.mark.parametrize(
    "text", ["", "x", "fixed:", "fixed:1,2", "uniform:2,1", "uniform:1", "nan", "-1", "gamma:1,2", "inf"]
)
def test_what_is_no_latency_is_refused_with_the_grammar(text: str) -> None:
    with pytest.raises(ValueError, match="a latency is"):
        parse_latency(text)


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_integral_of_busy_slots_is_exact() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    for seconds, busy in ((1.0, 2), (3.0, 1), (0.5, 0)):
        clock.now += seconds
        timeline.record(busy, 0)
    clock.now += 10
    assert timeline.busy_slot_seconds == pytest.approx(2 * 3.0 + 1 * 0.5)
    assert timeline.seconds == pytest.approx(14.5)
    assert timeline.samples == [(0.0, 0, 0), (1.0, 2, 0), (4.0, 1, 0), (4.5, 0, 0)]


def test_a_long_timeline_is_thinned_and_its_integral_stays_exact() -> None:
    clock = Clock()
    timeline = Timeline(clock, kept=64)
    for number in range(10_000):
        clock.now += 1
        timeline.record((number + 1) % 2, 0)
    assert len(timeline.samples) <= 64
    assert timeline.busy_slot_seconds == pytest.approx(5000, abs=1)
    moments = [sample[0] for sample in timeline.samples]
    assert moments == sorted(moments)
    assert moments[-1] > 9000
