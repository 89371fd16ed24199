"""What an alarm says."""

import pytest

from app.model.config import DatasetConfig
from app.model.gate_words import message
from app.model.gates import AlarmKind, Outcome, Rules, Window, unfinished, watch

RULES = Rules.of(DatasetConfig())
C, M, L, T, X = (Outcome(letter) for letter in "cmltx")


def say(*outcomes: Outcome) -> dict[AlarmKind, str]:
    raised = watch(Window(), outcomes, RULES).raised
    return {found.kind: message(found, "B1", "http://gpu:30000/v1") for found in raised}


def test_the_gate_says_its_numbers_what_to_look_at_and_what_to_do() -> None:
    assert say(C, C, M, C, L, M)[AlarmKind.GATE] == (
        "3 of the first 5 answers captured, 1 missing, 1 leaked (needs 19 of 20). "
        "See `thinkledger samples B1 --verdict missing`; after mending the server: "
        "`thinkledger probe --endpoint http://gpu:30000/v1 --dataset B1`, which resumes when reasoning is there, "
        "or `thinkledger datasets resume B1`; then `thinkledger retry B1 --verdict missing` asks what was lost again."
    )


def test_the_end_of_a_run_says_what_it_judged() -> None:
    found = unfinished([watch(Window(), [C, C, C, M], RULES).window], RULES)
    assert found is not None
    assert message(found, "B1", None).startswith("3 of the first 4 answers captured, 1 missing (needs 95 %).")
    assert "probe --endpoint URL --dataset B1" in message(found, "B1", None)


@pytest.mark.parametrize(
    ("outcomes", "kind", "words"),
    [
        ([X, X], AlarmKind.GATE, ["0 of the first 2", "2 malformed", "--cause malformed"]),
        ([*[C] * 40, *[M] * 11], AlarmKind.CAPTURE_LOW, ["39 of the last 50", "78.0 %", "needs 80 %", "resume B1"]),
        ([*[C] * 40, M], AlarmKind.LOST_ANY, ["1 of 41 answers", "--verdict leaked", "retry B1 --verdict missing"]),
        ([*[C] * 40, *[T] * 26], AlarmKind.TRUNCATED_HIGH, ["26 of the last 50", "--max-tokens", "datasets resume B1"]),
        ([*[C] * 40, X, X, X], AlarmKind.UNREADABLE, ["3 of the last 20", "--cause malformed", "datasets resume B1"]),
    ],
)
def test_every_alarm_has_numbers_and_a_command(outcomes: list[Outcome], kind: AlarmKind, words: list[str]) -> None:
    said = say(*outcomes)[kind]
    assert [word for word in words if word not in said] == []
    assert said.endswith(".")
    assert "\n" not in said
