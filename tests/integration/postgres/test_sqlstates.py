"""What each state of the server means for the work that met it."""

import pytest

from app.store.sqlstates import kind_of, may_go_through, state_error


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("08006", "busy"), ("57P01", "busy"), ("40P01", "busy"), ("55P03", "busy"), ("53300", "busy"),
        ("25006", "busy"), ("53100", "full"), ("58030", "io"), ("XX001", "damaged"), ("XX000", "io"),
        ("23505", "row"), ("22P05", "row"), ("55000", "row"), ("", "row"),
    ],
)  # fmt: skip
def test_a_state_is_of_a_kind(state: str, kind: str) -> None:
    assert kind_of(state) == kind


def test_only_what_the_server_took_back_is_begun_anew_at_once() -> None:
    assert [state for state in ("40001", "40P01", "55P03", "08006") if may_go_through(state)] == ["40001", "40P01"]


def test_a_connection_that_the_server_had_ended_is_said_in_words() -> None:
    said = state_error("08006", "cannot switch to state 13; another operation (2) is in progress")
    assert str(said) == "The PostgreSQL server cannot be reached (the server had ended the connection). Try again."
