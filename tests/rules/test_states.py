"""The table of moves, the constraints of the job table and the rules of failures say the same."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from app.model.lease import Cause, Settle
from app.model.limits import LONGEST_WAIT_MS
from app.model.states import MOVES, Event, JobState, sources
from tests.integration.store import raw
from tests.integration.store.kit import make
from worker.backoff import RULES, Counts

NOT_OF_AN_ATTEMPT = {Cause.KILLS_WORKERS}  # said of a job after many attempts, never of one


def test_every_state_and_every_event_is_in_the_table() -> None:
    assert {state for state, _ in MOVES} | set(MOVES.values()) == set(JobState)
    assert {event for _, event in MOVES} == set(Event)
    assert all(sources(event) for event in Event)


def test_each_event_leads_to_one_state() -> None:
    for event in Event:
        assert len({MOVES[state, event] for state in sources(event)}) == 1, event


def test_only_a_person_takes_a_job_out_of_done_or_cancelled() -> None:
    for state in (JobState.DONE, JobState.CANCELLED):
        assert {event for source, event in MOVES if source is state} == {Event.RETRY}


def test_only_a_claim_leads_to_leased_and_only_from_ready() -> None:
    assert {key for key, after in MOVES.items() if after is JobState.LEASED} == {(JobState.READY, Event.CLAIM)}


def test_an_answer_is_accepted_from_every_state_but_two() -> None:
    assert set(sources(Event.ACCEPT)) == set(JobState) - {JobState.DONE, JobState.CANCELLED}


def test_every_state_can_be_left_and_every_job_can_be_done() -> None:
    reached = {JobState.DONE}
    while more := {state for (state, _), after in MOVES.items() if after in reached} - reached:
        reached |= more
    assert reached == set(JobState)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("states") / "t.db"
    make(path)
    with raw.connection(path) as opened:
        opened.execute("INSERT INTO dataset (id, name, created_ms) VALUES (1, 'd', 0)")
        yield opened


def _fits(connection: Any, row: dict[str, object]) -> bool:
    columns = {"dataset_id": 1, "sample_ref": 1, "sample_id": "s", "ordinal": 1} | row
    connection.execute("BEGIN")
    try:
        connection.execute(
            f"INSERT INTO job ({', '.join(columns)}) VALUES (:{', :'.join(columns)})",
            columns,
        )
    except raw.sqlite3.IntegrityError:
        return False
    finally:
        connection.execute("ROLLBACK")
    return True


def test_a_row_says_of_each_state_what_belongs_to_it_and_nothing_else(jobs: Any) -> None:
    names = ("lease_worker", "lease_deadline_ms", "due_ms", "finished_ms", "cause", "verdict")
    values = (1, 1, 1, 1, "busy", "missing")
    for state, given in product(JobState, product([False, True], repeat=len(names))):
        there = dict(zip(names, given, strict=True))
        row = {name: value if there[name] else None for name, value in zip(names, values, strict=True)}
        leased = state is JobState.LEASED
        wanted = there["lease_worker"] is there["lease_deadline_ms"] is leased
        wanted = wanted and there["due_ms"] is (state is JobState.WAITING)
        wanted = wanted and (state is not JobState.DONE or (there["verdict"] and there["finished_ms"]))
        wanted = wanted and (state is not JobState.FAILED or (there["cause"] and there["finished_ms"]))
        assert _fits(jobs, {"state": state, "expected": 1, **row}) is bool(wanted), (state, there)


@pytest.mark.parametrize(
    "row", [{"state": "lost"}, {"verdict": "fine"}, {"attempt": -1}, {"tries": -1}, {"expiries": -1}, {"rank": "x"}]
)
def test_a_row_with_a_value_that_cannot_be_is_refused(jobs: Any, row: dict[str, object]) -> None:
    assert _fits(jobs, {})
    assert not _fits(jobs, row)


def test_every_cause_of_a_failed_attempt_has_a_rule() -> None:
    assert RULES.keys() == set(Cause) - NOT_OF_AN_ATTEMPT


def test_what_the_server_is_to_blame_for_burns_no_tries() -> None:
    for cause, rule in RULES.items():
        if rule.settle is Settle.RELEASE or rule.stops_worker or rule.slows_endpoint:
            assert rule.counts is Counts.NEVER, cause
        assert not (rule.holds_endpoint and rule.settle is not Settle.RELEASE), cause
    assert LONGEST_WAIT_MS == 600_000
