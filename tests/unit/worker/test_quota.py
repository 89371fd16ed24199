"""What `--limit` counts."""

from app.model.states import JobState
from worker.quota import Quota


def test_without_a_limit_everything_may_be_asked() -> None:
    quota = Quota()
    assert quota.room(64) == 64
    assert not quota.used_up


def test_only_done_and_failed_use_up_the_limit_and_what_is_under_way_may_become_either() -> None:
    quota = Quota(3)
    for _ in range(3):
        quota.began()
    assert quota.room(64) == 0
    assert not quota.used_up
    for state in (JobState.DONE, JobState.WAITING, None):
        quota.ended(state)
    assert quota.room(64) == 2
    quota.began()
    quota.ended(JobState.FAILED)
    assert (quota.done, quota.failed, quota.room(64)) == (1, 1, 1)
    quota.began()
    quota.ended(JobState.DONE)
    assert quota.used_up
