"""The grammar of faults, and what each rule holds for."""

import pytest

from worker.simulator.faults import Fault, Moment, chosen, parse_fault


def hits(text: str, counts: range) -> list[int]:
    fault = parse_fault(text)
    return [count for count in counts if fault.holds(Moment(count, 0.0, ""))]


def test_every_takes_each_nth() -> None:
    assert hits("hang@every:7", range(1, 22)) == [7, 14, 21]


def test_first_takes_the_first_and_after_the_rest() -> None:
    assert hits("hang@first:3", range(1, 7)) == [1, 2, 3]
    assert hits("hang@after:3", range(1, 7)) == [4, 5, 6]


@pytest.mark.parametrize(("seconds", "holds"), [(9.9, False), (10.0, True), (69.9, True), (70.0, False)])
def test_from_holds_between_two_seconds(seconds: float, holds: bool) -> None:
    assert parse_fault("http_503@from:10s..70s").holds(Moment(1, seconds, "")) is holds


def test_from_without_end_holds_for_ever() -> None:
    assert parse_fault("http_503@from:0.5s..").holds(Moment(1, 1e9, ""))


def test_prompt_looks_for_its_text_and_may_hold_signs_of_the_grammar() -> None:
    fault = parse_fault("http_400@prompt:a@b:c")
    assert fault.holds(Moment(1, 0.0, "xx a@b:c xx"))
    assert not fault.holds(Moment(1, 0.0, "a@b"))


def test_chance_is_the_same_every_time_and_near_its_share() -> None:
    first, again, other = (hits(f"hang@chance:0.05:{seed}", range(1, 10_001)) for seed in ("7", "7", "8"))
    assert first == again
    assert first != other
    assert 400 < len(first) < 600


def test_chance_0_and_1_are_never_and_always() -> None:
    assert hits("hang@chance:0:s", range(1, 100)) == []
    assert hits("hang@chance:1:s", range(1, 100)) == list(range(1, 100))


def test_a_persona_with_a_parameter_keeps_it() -> None:
    fault = parse_fault("slow:0.5@first:1")
    assert isinstance(fault, Fault)
    assert fault.persona == "slow:0.5"


def test_the_first_fault_that_holds_wins() -> None:
    faults = [parse_fault("http_500@every:2"), parse_fault("http_429@every:3")]
    names = [chosen(faults, Moment(count, 0.0, "")) for count in range(1, 7)]
    assert names == [None, "http_500", "http_429", "http_500", None, "http_500"]


@pytest.mark.parametrize(
    "text",
    [
        "hang", "hang@", "hang@every", "hang@every:", "hang@every:0", "hang@every:x", "hang@first:-1",
        "hang@from:10..70", "hang@from:s..s", "hang@prompt:", "hang@chance:2:s", "hang@chance:x:s", "hang@often:3",
        "@every:3",
    ],
)  # fmt: skip
def test_what_is_no_fault_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"a fault is|unknown persona"):
        parse_fault(text)


def test_an_unknown_persona_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown persona 'nobody'"):
        parse_fault("nobody@every:3")
