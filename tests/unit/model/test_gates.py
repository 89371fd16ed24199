"""The pure decision of gates and alarms."""

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.config import DatasetConfig
from app.model.gates import (
    GATED,
    RING,
    AlarmKind,
    Finding,
    Gate,
    Outcome,
    Rules,
    Window,
    after,
    findings,
    outcome_of,
    unfinished,
    watch,
)
from app.model.verdicts import Verdict

RULES = Rules.of(DatasetConfig())
GOOD, MISSING, CUT, BROKEN = Outcome.CAPTURED, Outcome.MISSING, Outcome.TRUNCATED, Outcome.MALFORMED
OUTCOMES = st.lists(st.sampled_from(Outcome), max_size=120)
MOSTLY_GOOD = st.lists(st.sampled_from([GOOD] * 12 + [MISSING, Outcome.LEAKED, CUT, BROKEN]), max_size=300)
ANY_RULES = st.builds(Rules, st.integers(0, 40), st.integers(0, 100).map(lambda percent: Decimal(percent) / 100))


def run(outcomes: Sequence[Outcome], rules: Rules = RULES) -> Window:
    return watch(Window(), outcomes, rules).window


def holds(window: Window, rules: Rules = RULES) -> dict[AlarmKind, Finding]:
    return {found.kind: found for found in findings(window, rules) if found.holds}


def first_hold(outcomes: Sequence[Outcome], rules: Rules = RULES) -> tuple[int, set[AlarmKind]] | None:
    """After how many answers something holds, and what."""
    window = Window()
    for place, outcome in enumerate(outcomes, 1):
        window = after(window, outcome, rules)
        if found := holds(window, rules):
            return place, set(found)
    return None


@given(OUTCOMES | MOSTLY_GOOD, st.lists(st.integers(1, 70), max_size=20), ANY_RULES)
def test_how_answers_are_cut_into_batches_changes_no_window_and_no_hold(
    outcomes: list[Outcome], sizes: list[int], rules: Rules
) -> None:
    window, held, rest = Window(), set[AlarmKind](), outcomes
    for size in [*sizes, len(outcomes)]:
        watched = watch(window, rest[:size], rules)
        window, rest = watched.window, rest[size:]
        held |= {found.kind for found in watched.raised if found.holds}
    whole = watch(Window(), outcomes, rules)
    assert window == whole.window
    assert held == {found.kind for found in whole.raised if found.holds}


SOME_GATE = ANY_RULES.filter(lambda rules: rules.gate > 0)


@given(OUTCOMES | MOSTLY_GOOD, SOME_GATE)
def test_the_gate_fails_exactly_when_it_can_no_longer_be_passed(outcomes: list[Outcome], rules: Rules) -> None:
    graded = [outcome for outcome in outcomes if outcome in GATED]
    window = run(outcomes, rules)
    best = [*graded[: rules.gate], *[GOOD] * rules.gate][: rules.gate]  # whatever is still to come is captured
    reachable = best.count(GOOD) >= rules.least * rules.gate
    assert (window.gate is Gate.FAILED) is (not reachable)
    if reachable:
        assert (window.gate is Gate.PASSED) is (len(graded) >= rules.gate)
    assert len(window.first) <= rules.gate


@given(OUTCOMES)
def test_a_gate_of_nothing_holds_nothing(outcomes: list[Outcome]) -> None:
    assert AlarmKind.GATE not in holds(run(outcomes, Rules(0, Decimal(1))))


@given(st.integers(0, 600), ANY_RULES)
def test_captured_answers_are_never_held(count: int, rules: Rules) -> None:
    watched = watch(Window(), [GOOD] * count, rules)
    assert (watched.raised, watched.window.recent) == ((), GOOD * min(count, RING))
    assert unfinished([watched.window], rules) is None


@given(OUTCOMES | MOSTLY_GOOD)
def test_a_share_of_zero_never_holds_for_missing_reasoning(outcomes: list[Outcome]) -> None:
    rules = Rules(20, Decimal(0))
    found = {finding.kind for finding in watch(Window(), outcomes, rules).raised if finding.holds}
    assert found <= {AlarmKind.UNREADABLE, AlarmKind.TRUNCATED_HIGH}


@given(MOSTLY_GOOD, MOSTLY_GOOD)
def test_what_was_raised_is_raised_again_only_when_it_changed(before: list[Outcome], more: list[Outcome]) -> None:
    window = run(before)
    known = {found.key for found in findings(window, RULES)}
    watched = watch(window, more, RULES)
    assert not known & {found.key for found in watched.raised}
    assert not {found.kind for found in watched.raised} & watched.cleared
    assert not set(holds(window)) & watched.cleared


@pytest.mark.parametrize(
    ("outcomes", "place", "kind"),
    [
        ([MISSING] * 3, 2, AlarmKind.GATE),
        ([BROKEN, *[GOOD] * 18, CUT], 20, AlarmKind.GATE),
        ([*[GOOD] * 19, MISSING, GOOD], None, None),
        ([*[GOOD] * 20, *[MISSING] * 60], 31, AlarmKind.CAPTURE_LOW),
        ([*[GOOD] * 5000, *[MISSING] * 60], 5011, AlarmKind.CAPTURE_LOW),
        ([*[GOOD] * 5000, *[MISSING, GOOD, GOOD, GOOD] * 60], 5041, AlarmKind.CAPTURE_LOW),
        ([*[GOOD] * 5000, *[MISSING, *[GOOD] * 9] * 60], None, None),
        ([*[GOOD] * 500, *[CUT] * 60], 526, AlarmKind.TRUNCATED_HIGH),
        ([*[GOOD] * 500, BROKEN, GOOD, BROKEN, GOOD, BROKEN], 505, AlarmKind.UNREADABLE),
        ([*[GOOD] * 500, *[BROKEN, *[GOOD] * 9] * 9], None, None),
        ([Outcome.OFF_MALFORMED] * 3, 3, AlarmKind.UNREADABLE),
        ([Outcome.OFF, Outcome.OFF_LEAKED] * 100, None, None),
    ],
)
def test_a_run_is_held_at(outcomes: list[Outcome], place: int | None, kind: AlarmKind | None) -> None:
    found = first_hold(outcomes)
    assert found == (None if place is None else (place, {kind}))


@given(st.integers(20, 6000))
def test_a_run_that_loses_its_reasoning_is_held_within_sixty_answers(good: int) -> None:
    window = run([GOOD] * min(good, 400))
    watched = watch(window, [MISSING] * 60, RULES)
    assert AlarmKind.CAPTURE_LOW in {found.kind for found in watched.raised if found.holds}


def test_a_low_rate_warns_before_it_holds_and_the_warning_ends_by_itself() -> None:
    warned = watch(run([GOOD] * 100), [MISSING] * 3, RULES)
    low = next(found for found in warned.raised if found.kind is AlarmKind.CAPTURE_LOW)
    assert (low.part, low.whole, low.holds) == (47, 50, False)
    assert watch(warned.window, [GOOD] * 50, RULES).cleared == {AlarmKind.CAPTURE_LOW}


def test_a_hold_within_a_batch_is_kept_when_the_batch_ends_well() -> None:
    watched = watch(run([GOOD] * 100), [*[MISSING] * 11, *[GOOD] * 100], RULES)
    low = next(found for found in watched.raised if found.kind is AlarmKind.CAPTURE_LOW)
    assert (low.part, low.whole, low.holds) == (39, 50, True)
    assert watched.cleared == set()


def test_many_cut_answers_warn() -> None:
    raised = watch(run([GOOD] * 100), [*[CUT, *[GOOD] * 4] * 20], RULES).raised
    assert [(found.kind, found.part, found.holds) for found in raised] == [(AlarmKind.TRUNCATED_HIGH, 20, False)]


def test_a_share_is_taken_exactly() -> None:
    """0.55 * 20 is 11.000000000000002 as floats, and its ceiling would ask for one more than 55 %."""
    rules = Rules.of(DatasetConfig(gate=20, min_capture=0.55))
    assert run([*[MISSING] * 9, *[GOOD] * 11], rules).gate is Gate.PASSED
    assert run([MISSING] * 10, rules).gate is Gate.FAILED


@pytest.mark.parametrize(
    ("lists", "kind"),
    [
        ([[MISSING]], AlarmKind.GATE),
        ([[GOOD] * 9 + [MISSING]], AlarmKind.GATE),
        ([[GOOD] * 12 + [BROKEN]], None),
        ([[GOOD] * 5 + [MISSING], [GOOD] * 15], None),  # two servers: 20 of 21
        ([[GOOD] * 20 + [MISSING] * 8], AlarmKind.CAPTURE_LOW),  # 20 of 28
        ([[GOOD] * 60 + [MISSING] * 5], None),
        ([[Outcome.OFF] * 5], None),
        ([[]], None),
        ([], None),
    ],
)
def test_the_end_of_a_run_judges_what_no_answer_will_finish(lists: list[list[Outcome]], kind: AlarmKind | None) -> None:
    found = unfinished([run(outcomes) for outcomes in lists], RULES)
    assert (found and found.kind) == kind
    assert found is None or found.holds


def test_the_end_of_a_run_repeats_no_hold() -> None:
    assert unfinished([run([MISSING] * 5)], RULES) is None
    assert unfinished([run([*[GOOD] * 100, *[MISSING] * 20])], RULES) is None


@pytest.mark.parametrize(
    ("verdict", "expected", "flags", "outcome"),
    [
        (Verdict.CAPTURED_FIELD, True, set(), Outcome.CAPTURED),
        (Verdict.SPLIT_FROM_CONTENT, True, set(), Outcome.CAPTURED),
        (Verdict.MISSING, True, {"no_trace"}, Outcome.MISSING),
        (Verdict.LEAKED, True, set(), Outcome.LEAKED),
        (Verdict.TRUNCATED, True, set(), Outcome.TRUNCATED),
        (Verdict.MALFORMED, True, {"not_json"}, Outcome.MALFORMED),
        (Verdict.MALFORMED, True, {"http_error"}, None),
        (Verdict.MALFORMED, True, {"aborted"}, None),
        (Verdict.NONE_EXPECTED, False, set(), Outcome.OFF),
        (Verdict.LEAKED, False, set(), Outcome.OFF_LEAKED),
        (Verdict.MALFORMED, False, {"not_json"}, Outcome.OFF_MALFORMED),
    ],
)
def test_what_an_answer_counts_as(verdict: Verdict, expected: bool, flags: set[str], outcome: Outcome | None) -> None:
    assert outcome_of(verdict, expected=expected, flags=frozenset(flags)) is outcome
