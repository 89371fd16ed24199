"""Jobs against their answers: one accepted response where one must be, none where none may be, and true copies."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.leasing.conversations import facts_of
from app.model.states import JobState
from app.verify.findings import ASK_AGAIN, REPARSE, RESTORE, Finding

COPIED = (
    "verdict", "expected", "finish_reason", "found", "reasoning_chars", "content_chars", "completion_tokens",
    "latency_ms", "preview", "loss_flags",
)  # fmt: skip
WITHOUT_ANSWER = (JobState.FAILED, JobState.CANCELLED)  # the others may keep one through a retry
LOST_HOLDERS = ("dead", "stopped")


def check_job(job: Any, answers: Sequence[Any], taken: Sequence[Any], name: str) -> Iterator[Finding]:
    """What is wrong with a job; `answers` are its accepted responses in the order of turns.

    `taken` are those that it goes on from, where it is a conversation.
    """
    for what, todo in (*_wrong(job, answers), *_wrong_turns(job, answers, taken)):
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
    if job.state == JobState.DONE and answers and all(answer.seq is not None for answer in answers):
        yield from _copies(job, answers)  # an answer without a reading is said where responses are looked at


def _wrong_turns(job: Any, answers: Sequence[Any], taken: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with a conversation: it has an answer for each turn up to the one that is asked next."""
    has = [one.turn for one in taken if one.fits]
    if job.turns > 1 and has != list(range(job.turn)):
        yield f"it is at turn {job.turn}, and has the answers of the turns {has}", RESTORE
    if job.turns > 1 and job.state == JobState.DONE and {one.response_id for one in taken} != {a.id for a in answers}:
        yield "its accepted responses are not those of its turns", RESTORE
    if job.turns == 1 and (job.turn or taken or len(answers) > 1):
        yield "it has several turns, and its sample asks for one", RESTORE


def _copies(job: Any, answers: Sequence[Any]) -> Iterator[tuple[str, str]]:
    facts = facts_of(answers)
    for name in COPIED:
        copy, original = getattr(job, name), facts[name]
        if copy != original:
            yield f"{name} of the job is {copy!r}, and {original!r} in the current reading", REPARSE
