"""Jobs against their answers: one accepted response where one must be, none where none may be, and true copies."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.model.states import JobState
from app.verify.findings import ASK_AGAIN, REPARSE, RESTORE, Finding

COPIED = (
    "verdict", "expected", "finish_reason", "found", "reasoning_chars", "content_chars", "completion_tokens",
    "latency_ms", "preview", "loss_flags",
)  # fmt: skip
WITHOUT_ANSWER = (JobState.FAILED, JobState.CANCELLED)  # the others may keep one through a retry
LOST_HOLDERS = ("dead", "stopped")


def check_job(job: Any, answers: Sequence[Any], name: str) -> Iterator[Finding]:
    """What is wrong with a job; `answers` are its accepted responses in the order of turns."""
    for what, todo in _wrong(job, answers):
        yield Finding(what, todo, name, job.sample_id)


def _wrong(job: Any, answers: Sequence[Any]) -> Iterator[tuple[str, str]]:
    if job.sample_name is None:
        yield "its sample is not there", RESTORE
    elif (job.sample_dataset, job.sample_name) != (job.dataset_id, job.sample_id):
        yield "the sample that it points to has another id or belongs to another dataset", RESTORE
    turns = [answer.turn for answer in answers]
    if job.state == JobState.DONE and not answers:
        yield "it is done without an accepted response", ASK_AGAIN
    if len(set(turns)) != len(turns):
        yield f"{len(turns)} responses are accepted, where one a turn may be", RESTORE
    elif turns != list(range(len(turns))):
        yield f"the accepted responses are those of the turns {turns}, which leave one out", RESTORE
    if job.state in WITHOUT_ANSWER and answers:
        yield f"it is {job.state} and still has an accepted response", RESTORE
    if job.state == JobState.LEASED and job.worker_state in LOST_HOLDERS and not job.unread:
        yield f"it is leased to worker {job.worker}, which is {job.worker_state}", "start a worker, which takes it back"
    if job.state == JobState.DONE and len(answers) == 1:
        yield from _copies(job, answers[0])


def _copies(job: Any, answer: Any) -> Iterator[tuple[str, str]]:
    if answer.seq is None:
        return  # said where responses are looked at
    for name in COPIED:
        copy, original = getattr(job, name), getattr(answer, name)
        if copy != original:
            yield f"{name} of the job is {copy!r}, and {original!r} in the current reading", REPARSE
