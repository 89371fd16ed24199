"""The life of a job as one table. CHECK constraints, documentation and tests are made from it."""

from enum import StrEnum


class JobState(StrEnum):
    """Where a job is. A job is in exactly one state, and the states of a dataset add up to its jobs."""

    READY = "ready"  # nobody holds it; may be claimed
    LEASED = "leased"  # one worker holds it until its deadline
    WAITING = "waiting"  # a retry that is not due yet
    DONE = "done"  # an accepted response is stored
    FAILED = "failed"  # tries used up, or the error cannot heal
    CANCELLED = "cancelled"  # a person took it out


OPEN = (JobState.READY, JobState.LEASED, JobState.WAITING)  # an answer may come yet


class Event(StrEnum):
    """What can happen to a job."""

    CLAIM = "claim"  # a worker takes it: attempt grows by one
    RELEASE = "release"  # the holder gives it back unasked (drain, hold, endpoint down): counts nowhere
    EXPIRE = "expire"  # the holder died or overran its deadline: expiries grows by one
    REST = "rest"  # the same, from the third expiry on: wait before it is offered again
    WORN_OUT = "worn_out"  # the same, at the last expiry
    POSTPONE = "postpone"  # a failure that may heal
    GIVE_UP = "give_up"  # a failure that cannot heal, or the last try
    DUE = "due"  # the waiting time is over
    ACCEPT = "accept"  # the response of the newest attempt is accepted
    HAND_ON = "hand_on"  # so is that of a turn which is not the last, and its holder does not ask the next one
    PROMOTE = "promote"  # an earlier response stands in for the one that could not be had
    RETRY = "retry"  # a person asks for new attempts
    CANCEL = "cancel"  # a person takes it out


MOVES: dict[tuple[JobState, Event], JobState] = {
    (JobState.READY, Event.CLAIM): JobState.LEASED,
    (JobState.LEASED, Event.RELEASE): JobState.READY,
    (JobState.LEASED, Event.EXPIRE): JobState.READY,
    (JobState.LEASED, Event.REST): JobState.WAITING,
    (JobState.LEASED, Event.WORN_OUT): JobState.FAILED,
    (JobState.LEASED, Event.POSTPONE): JobState.WAITING,
    (JobState.LEASED, Event.GIVE_UP): JobState.FAILED,
    (JobState.LEASED, Event.PROMOTE): JobState.DONE,
    (JobState.WAITING, Event.DUE): JobState.READY,
    (JobState.LEASED, Event.ACCEPT): JobState.DONE,
    (JobState.READY, Event.ACCEPT): JobState.DONE,
    (JobState.WAITING, Event.ACCEPT): JobState.DONE,
    (JobState.FAILED, Event.ACCEPT): JobState.DONE,
    (JobState.LEASED, Event.HAND_ON): JobState.READY,
    (JobState.READY, Event.HAND_ON): JobState.READY,
    (JobState.WAITING, Event.HAND_ON): JobState.READY,
    (JobState.FAILED, Event.HAND_ON): JobState.READY,
    (JobState.DONE, Event.RETRY): JobState.READY,
    (JobState.FAILED, Event.RETRY): JobState.READY,
    (JobState.CANCELLED, Event.RETRY): JobState.READY,
    (JobState.READY, Event.CANCEL): JobState.CANCELLED,
    (JobState.LEASED, Event.CANCEL): JobState.CANCELLED,
    (JobState.WAITING, Event.CANCEL): JobState.CANCELLED,
    (JobState.FAILED, Event.CANCEL): JobState.CANCELLED,
}


def sources(event: Event) -> tuple[JobState, ...]:
    """The states from which `event` may move a job; every UPDATE carries them as its guard."""
    return tuple(state for (state, happening) in MOVES if happening is event)
