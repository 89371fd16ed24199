"""What a worker holds while it works at a job, and what it may ask about it."""

from dataclasses import dataclass
from enum import StrEnum

from app.model.ids import DatasetId, EndpointId, JobId, WorkerId


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to a job. `(epoch, job, attempt, worker)` is the fence: a later claim makes this one void."""

    job: JobId
    attempt: int
    worker: WorkerId
    epoch: int
    dataset: DatasetId
    tries: int = 0  # counted failures so far
    deadline_ms: int = 0  # wall clock; from then on a live worker may lose it too
    leased_ms: int | None = None  # wall clock; None: not known any more


class Cause(StrEnum):
    """Why an attempt failed, in the words that pages, filters and `status` use."""

    UNREACHABLE = "unreachable"  # refused, DNS, reset before sending, /health 503
    DENIED = "denied"  # 401, 403
    NO_SUCH_MODEL = "no_such_model"  # 404 of the model or the route
    BUSY = "busy"  # 429, 503, 408, 425, 409
    SERVER_ERROR = "server_error"  # 500, 502, 504 and other 5xx
    CUT = "cut"  # the connection broke after the request was sent
    TIMED_OUT = "timed_out"  # no whole answer within the request time-out
    ABORTED = "aborted"  # HTTP 200 whose finish_reason is abort or error
    MALFORMED = "malformed"  # HTTP 200 that is no answer
    REJECTED = "rejected"  # 400, 413, 422: the request cannot be answered
    TOO_LARGE = "too_large"  # the body is over --max-body
    UNSENDABLE = "unsendable"  # the client itself could not write the request
    KILLS_WORKERS = "kills_workers"  # too many leases ended with their holder's death


class Settle(StrEnum):
    """Where a failed attempt takes its job."""

    RELEASE = "release"  # ready again, nothing counted
    POSTPONE = "postpone"  # waiting until `due_ms`
    GIVE_UP = "give_up"  # failed, unless an earlier response can stand in


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt and what is decided about it."""

    lease: Lease
    cause: Cause
    message: str  # for a person, secrets already replaced
    settle: Settle
    counted: bool  # whether it raises tries
    due_ms: int | None = None  # when POSTPONE lets it be claimed again
    http_status: int | None = None
    body: bytes | None = None  # what came of a body that never ended
    endpoint: EndpointId | None = None
    response_stored: bool = False  # a whole body was stored as the response of this attempt


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole HTTP body that an attempt brought, as received, with its facts."""

    lease: Lease
    body: bytes
    http_status: int
    requested_ms: int
    received_ms: int
    form: str
    request: str  # JSON of all that was sent but messages and tools
    request_sha256: str  # of the canonical JSON of the whole request
    expected: bool  # thinking was asked for, or not switched off
    profile: str
    raw_text_sent: bool  # separate_reasoning=false went with the request
    endpoint: EndpointId | None = None
    request_id: str | None = None
    content_type: str | None = None
    scrubbed: bool = False  # a secret was replaced in a body that was no answer
    turn: int = 0
