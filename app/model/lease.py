"""What a worker holds while it works at a job, and what it may ask about it."""

from dataclasses import dataclass
from enum import StrEnum

from app.model.ids import DatasetId, EndpointId, JobId, WorkerId
from app.model.limits import DEATHS_BEFORE_ALONE


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
    deaths: int = 0  # how often its endpoint died while it was asked
    leased_ms: int | None = None  # wall clock; None: not known any more

    @property
    def alone(self) -> bool:
        """Whether the job may be what kills its endpoint, so that nothing else may be asked there meanwhile."""
        return self.deaths >= DEATHS_BEFORE_ALONE


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
    OUT_OF_FILES = "out_of_files"  # this process may open no more connections; the server is not to blame
    KILLS_SERVER = "kills_server"  # its endpoint died with it in flight, again and again, and with nothing else too
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
    died: bool = False  # the endpoint died with the request in flight


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
