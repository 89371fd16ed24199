"""A server that goes down by itself is told from one that its prompts kill."""

from hypothesis import given
from hypothesis import strategies as st

from worker.outages import BY_ITSELF, REMEMBERED_S, Outages


def test_outages_whose_jobs_were_all_answered_later_are_the_server_s_own() -> None:
    seen = Outages()
    for number in range(BY_ITSELF):
        assert not seen.are_its_own(100.0)
        for job in (1, 2):
            seen.broke(10.0 * number, job)
        seen.answered(1)
        assert not seen.are_its_own(100.0)
        seen.answered(2)
    assert seen.are_its_own(100.0)


def test_connections_that_break_together_are_one_outage() -> None:
    seen = Outages()
    for job in range(8):
        seen.broke(5.0 + job / 10, job)
    for job in range(8):
        seen.answered(job)
    assert not seen.are_its_own(10.0)


def test_it_is_forgotten_after_half_an_hour() -> None:
    seen = Outages()
    for number in range(BY_ITSELF):
        seen.broke(10.0 * number, number)
        seen.answered(number)
    last_s = 10.0 * (BY_ITSELF - 1)
    assert seen.are_its_own(REMEMBERED_S)
    assert not seen.are_its_own(last_s + REMEMBERED_S + 1)


@given(
    st.lists(st.tuples(st.sets(st.integers(1, 40)), st.sampled_from([100, 101, 102])), max_size=60),
    st.lists(st.integers(1, 40), max_size=200),
)
def test_prompts_that_kill_clear_no_outage_however_many_they_are(
    deaths: list[tuple[set[int], int]], answered: list[int]
) -> None:
    """Each outage has its killer in flight, and a killer is never answered."""
    seen, now_s = Outages(), 0.0
    for others, killer in deaths:
        now_s += 10.0
        for job in (*others, killer):
            seen.broke(now_s, job)
        for job in answered:
            seen.answered(job)
    assert not seen.are_its_own(now_s)
