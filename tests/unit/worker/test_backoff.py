"""What an error means for its job: a table, read row by row."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.lease import Cause, Settle
from app.model.limits import LONGEST_WAIT_MS
from worker import backoff
from worker.backoff import RULES, cause_of_flags, cause_of_status, decide, retry_after, wait

HELD, STOPS = {Cause.UNREACHABLE}, {Cause.DENIED, Cause.NO_SUCH_MODEL}
FOR_GOOD = {Cause.REJECTED, Cause.TOO_LARGE, Cause.UNSENDABLE, Cause.KILLS_SERVER}
SLOWS = {Cause.BUSY, Cause.OUT_OF_FILES}
IF_WELL = {Cause.SERVER_ERROR, Cause.CUT, Cause.TIMED_OUT, Cause.ABORTED, Cause.MALFORMED}


def test_the_table_is_the_one_that_was_decided() -> None:
    assert {cause for cause, rule in RULES.items() if rule.settle is Settle.RELEASE} == HELD | STOPS
    assert {cause for cause, rule in RULES.items() if rule.settle is Settle.GIVE_UP} == FOR_GOOD
    assert {cause for cause, rule in RULES.items() if rule.settle is Settle.POSTPONE} == IF_WELL | SLOWS
    assert {cause for cause, rule in RULES.items() if rule.holds_endpoint} == HELD
    assert {cause for cause, rule in RULES.items() if rule.stops_worker} == STOPS
    assert {cause for cause, rule in RULES.items() if rule.slows_endpoint} == SLOWS


@pytest.mark.parametrize("cause", RULES)
@pytest.mark.parametrize("server_well", [True, False])
def test_a_failure_counts_only_where_the_server_was_well(cause: Cause, server_well: bool) -> None:
    decision = decide(cause, tries=0, server_well=server_well, retry_after_s=None, random=lambda: 0.0)
    assert decision.counted is (server_well and cause in IF_WELL)
    assert (decision.wait_ms > 0) is (decision.settle is Settle.POSTPONE)


@pytest.mark.parametrize(
    ("statuses", "cause"),
    [
        ((400, 413, 422, 402, 410, 418, 451), Cause.REJECTED),
        ((401, 403), Cause.DENIED),
        ((404, 405, 301, 302, 307, 308), Cause.NO_SUCH_MODEL),
        ((408, 409, 425, 429, 503), Cause.BUSY),
        ((500, 501, 502, 504, 507, 529, 599), Cause.SERVER_ERROR),
    ],
)
def test_a_status_has_one_cause(statuses: tuple[int, ...], cause: Cause) -> None:
    assert {cause_of_status(status) for status in statuses} == {cause}


@settings(max_examples=200, deadline=None)
@given(st.integers(100, 999))
def test_every_status_has_a_cause_with_a_rule(status: int) -> None:
    assert cause_of_status(status) in RULES


def test_an_abort_is_told_from_a_body_that_is_no_answer() -> None:
    assert cause_of_flags(frozenset({"aborted", "other"})) is Cause.ABORTED
    assert cause_of_flags(frozenset({"not_json"})) is Cause.MALFORMED
    assert cause_of_flags(frozenset()) is Cause.MALFORMED


def test_waits_double_from_two_seconds_to_ten_minutes() -> None:
    waits = [wait(tries, None, lambda: 0.0) for tries in range(11)]
    assert waits == [2000 * 2**tries for tries in range(9)] + [LONGEST_WAIT_MS] * 2


def test_what_the_server_asks_for_takes_the_place_of_the_doubling() -> None:
    assert wait(9, 7.0, lambda: 0.0) == 7000
    assert wait(0, 1e9, lambda: 0.0) == LONGEST_WAIT_MS


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.none() | st.floats(0, 1e12), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_shorter_than_asked_for_and_never_longer_than_the_longest(
    tries: int, asked_s: float | None, chance: float
) -> None:
    least = int(min(wait(tries, asked_s, lambda: 0.0), LONGEST_WAIT_MS))
    waited = wait(tries, asked_s, lambda: chance)
    assert least <= waited <= min(LONGEST_WAIT_MS, least * 1.5 + 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0), ("12", 12.0), (" 12 ", 12.0), (None, None), ("", None), ("soon", None), ("-1", None),
        ("1.5", None), ("1e3", None), ("\u0663", None), ("\u00b2", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_in_its_number_form(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_a_retry_after_of_any_length_is_a_number() -> None:
    found = retry_after("9" * 5000)
    assert found is not None
    assert wait(0, found, lambda: 0.9) == LONGEST_WAIT_MS


def test_the_module_says_how_long_an_endpoint_counts_as_well() -> None:
    assert backoff.ANSWERED_LATELY_S == 300.0
