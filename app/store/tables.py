"""The tables of a store. Times are integer milliseconds since 1970; states and verdicts are text with a CHECK."""

from typing import Any, cast

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

from app.model.found import Found
from app.model.limits import DEATHS_BEFORE_ALONE
from app.model.states import JobState
from app.model.verdicts import Verdict

STRICT = {"sqlite_strict": True}


def _one_of(column: str, values: type[JobState] | type[Verdict] | type[Found]) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"


def _partial(name: str, where: str, *columns: str, unique: bool = False) -> Index:
    """An index of the few rows that `where` names: a claim costs the same at ten thousand jobs and at three million.

    PostgreSQL's compiler takes the same condition: naming it here would load that dialect at each start of a command.
    """
    return Index(name, *columns, unique=unique, sqlite_where=text(where))


def _key() -> Any:
    return Field(default=None, sa_column=Column(Integer, primary_key=True))


def _integer(default: int | None = None, *, null: bool = False) -> Any:
    server_default = None if default is None else text(str(default))
    return Field(default=default, sa_column=Column(Integer, nullable=null, server_default=server_default))


def _text(default: str | None = None, *, null: bool = False) -> Any:
    server_default = None if default is None else text(f"'{default}'")
    return Field(default=default, sa_column=Column(Text, nullable=null, server_default=server_default))


def _blob(*, null: bool = False) -> Any:
    return Field(default=None, sa_column=Column(LargeBinary, nullable=null))


def _to(target: str, *, null: bool = False, primary: bool = False) -> Any:
    column: Column[Any] = Column(Integer, ForeignKey(target), nullable=null, primary_key=primary)
    return Field(default=None, sa_column=column)


class Meta(SQLModel, table=True):
    """The one row about the store itself."""

    __tablename__ = "meta"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"), STRICT)
    id: int = _key()
    store_id: str = _text()
    created_ms: int = _integer()
    seq: int = _integer(0)  # grows by one in every transaction that changes rows
    epoch: int = _integer(0)  # a restore writes a new one, which makes every older lease void
    parser_version: int = _integer(0)  # the newest parser that wrote readings here
    backup_ms: int | None = _integer(null=True)  # when the newest backup was finished
    backup_seq: int | None = _integer(null=True)  # what it holds: everything up to this number


class Dataset(SQLModel, table=True):
    """A named, ordered set of samples from one source."""

    __tablename__ = "dataset"
    __table_args__ = (UniqueConstraint("name", name="dataset_name"), STRICT)
    id: int = _key()
    name: str = _text()
    created_ms: int = _integer()
    config: str = _text("{}")  # JSON: model, sampling, thinking, profile, gate (app.model.config)
    max_attempts: int = _integer(5)
    rank: int = _integer(0)  # lower is asked first
    claimed_ms: int = _integer(0)  # equals take turns: least recently claimed first


class Source(SQLModel, table=True):
    """One imported file of a dataset. A file that adds nothing and is known already leaves no second row."""

    __tablename__ = "source"
    __table_args__ = (
        CheckConstraint("sha256 IS NULL OR finished_ms IS NOT NULL", name="hashed_to_its_end"),
        Index("source_content", "dataset_id", "sha256"),
        STRICT,
    )
    id: int = _key()
    dataset_id: int = _to("dataset.id")
    name: str = _text()
    sha256: str | None = _text(null=True)  # of the file's bytes; null while it was not read to its end
    rows: int = _integer()  # lines that hold something, rejects included
    rejected: int = _integer(0)
    started_ms: int = _integer()
    finished_ms: int | None = _integer(null=True)  # null: the import was cut off, or is running


class Hold(SQLModel, table=True):
    """A reason not to claim from a dataset; it is held while any row stands."""

    __tablename__ = "hold"
    __table_args__ = (CheckConstraint("kind IN ('person', 'gate', 'alarm')", name="hold_kind"), STRICT)
    dataset_id: int = _to("dataset.id", primary=True)
    kind: str = Field(sa_column=Column(Text, primary_key=True))
    reason: str = _text()
    since_ms: int = _integer()
    since_seq: int = _integer()


class GateWindow(SQLModel, table=True):
    """What came of one server identity for one dataset since the last resume: what gates and alarms are decided by."""

    __tablename__ = "gate_window"
    __table_args__ = (CheckConstraint("gate IN ('open', 'passed', 'failed')", name="gate_decision"), STRICT)
    dataset_id: int = _to("dataset.id", primary=True)
    endpoint_id: int = _to("endpoint.id", primary=True)
    since_ms: int = _integer()
    gate: str = _text()
    first: str = _text()  # a letter an answer (app.model.gates.Outcome), up to the gate's decision
    recent: str = _text()  # the letters of the last 200
    answers: int = _integer(0)
    lost: int = _integer(0)


class Alarm(SQLModel, table=True):
    """Something that needs a person. Raised again, it is the same row with newer numbers."""

    __tablename__ = "alarm"
    __table_args__ = (
        UniqueConstraint("kind", "subject", name="alarm_subject"),
        CheckConstraint("state IN ('open', 'acknowledged', 'cleared')", name="alarm_state"),
        STRICT,
    )
    id: int = _key()
    kind: str = _text()
    subject: str = _text()  # what it is about, as a key: `dataset 1 endpoint 2`
    dataset_id: int | None = _to("dataset.id", null=True)
    endpoint_id: int | None = _to("endpoint.id", null=True)
    state: str = _text("open")
    holds: int = _integer(0)  # 1: it holds the dataset
    since_ms: int = _integer()
    last_ms: int = _integer()
    part: int | None = _integer(null=True)
    whole: int | None = _integer(null=True)
    message: str = _text()
    # Telling it elsewhere (app.gates.telling).
    told_since_ms: int | None = _integer(null=True)  # `since_ms` of what was told last; another one is news
    tell_due_ms: int | None = _integer(null=True)  # not to be tried by anybody before then
    tell_tries: int = _integer(0)  # failures in a row
    tell_error: str | None = _text(null=True)  # of the last one


class Sample(SQLModel, table=True):
    """One row to answer, written once. Equal rows of a file are told apart by `occurrence`."""

    __tablename__ = "sample"
    __table_args__ = (
        UniqueConstraint("dataset_id", "sample_id", name="sample_name"),
        UniqueConstraint("dataset_id", "base_id", "occurrence", name="sample_occurrence"),
        STRICT,
    )
    id: int = _key()
    dataset_id: int = _to("dataset.id")
    sample_id: str = _text()
    base_id: str = _text()  # the id as the row gave it, or the hash of its content
    occurrence: int = _integer(1)
    content_sha256: str = _text()  # of the canonical JSON of {messages, tools}
    messages: str = _text()  # JSON list in the normal form
    tools: str | None = _text(null=True)  # JSON list, or null for none
    params: str | None = _text(null=True)  # JSON of settings that this row overrides
    source_id: int | None = _to("source.id", null=True)
    source_row: int = _integer(0)  # line number in its file, from 1


class Job(SQLModel, table=True):
    """The work "get an accepted response for this sample". Narrow: never a body."""

    __tablename__ = "job"
    __table_args__ = (
        UniqueConstraint("dataset_id", "sample_id", "replica", name="job_name"),
        UniqueConstraint("dataset_id", "ordinal", "replica", name="job_order"),
        CheckConstraint(_one_of("state", JobState), name="job_state"),
        CheckConstraint(_one_of("verdict", Verdict), name="job_verdict"),
        CheckConstraint("(state = 'leased') = (lease_worker IS NOT NULL)", name="leased_by_somebody"),
        CheckConstraint("(state = 'leased') = (lease_deadline_ms IS NOT NULL)", name="leased_until"),
        CheckConstraint("(state = 'waiting') = (due_ms IS NOT NULL)", name="waiting_until"),
        CheckConstraint(
            "state <> 'done' OR (verdict IS NOT NULL AND expected IS NOT NULL AND finished_ms IS NOT NULL)",
            name="done_has_a_verdict",
        ),
        CheckConstraint(
            "state <> 'failed' OR (cause IS NOT NULL AND finished_ms IS NOT NULL)", name="failed_has_a_cause"
        ),
        CheckConstraint("attempt >= 0 AND tries >= 0 AND expiries >= 0 AND deaths >= 0", name="job_counts"),
        CheckConstraint("turns >= 1 AND turn BETWEEN 0 AND turns", name="job_turns"),
        CheckConstraint(_one_of("found", Found), name="job_found"),
        Index("job_sample", "sample_ref"),
        _partial("job_ready", "state = 'ready'", "dataset_id", "rank", "id"),
        _partial("job_alone", f"state = 'ready' AND deaths >= {DEATHS_BEFORE_ALONE}", "dataset_id", "rank", "id"),
        _partial("job_waiting", "state = 'waiting'", "dataset_id", "due_ms"),
        _partial("job_leased", "state = 'leased'", "lease_worker", "lease_deadline_ms"),
        # Lists: each filter and each order finds its rows at once, at any number of jobs.
        Index("job_state_order", "dataset_id", "state", "ordinal", "replica"),
        _partial("job_verdict_order", "verdict IS NOT NULL", "dataset_id", "verdict", "ordinal", "replica"),
        _partial("job_found_order", "found IS NOT NULL", "dataset_id", "finish_reason", "found", "ordinal", "replica"),
        _partial("job_cause_order", "cause IS NOT NULL", "dataset_id", "cause", "ordinal", "replica"),
        _partial("job_finished", "finished_ms IS NOT NULL", "dataset_id", "finished_ms"),  # and the id, as in all
        _partial("job_loss_order", "loss_flags IS NOT NULL", "dataset_id", "ordinal", "replica"),
        _partial("job_reasoning", "reasoning_chars IS NOT NULL", "dataset_id", "reasoning_chars"),
        STRICT,
    )
    id: int = _key()
    dataset_id: int = _to("dataset.id")
    sample_ref: int = _to("sample.id")
    sample_id: str = _text()
    ordinal: int = _integer()  # import order in the dataset, from 1
    replica: int = _integer(0)
    seed: int | None = _integer(null=True)  # sent with its requests, where its sample is answered several times
    turns: int = _integer(1)  # answers that its sample asks for; more than one: a conversation
    turn: int = _integer(0)  # of a conversation: the answers it has, and so the number of the turn that is asked next
    state: str = _text(JobState.READY)
    rank: int = _integer(0)  # lower is asked first
    due_ms: int | None = _integer(null=True)
    attempt: int = _integer(0)  # the fence: grows at every claim, and only there
    tries: int = _integer(0)  # counted failures
    expiries: int = _integer(0)  # leases that ended with their holder's death or deadline
    deaths: int = _integer(0)  # deaths of an endpoint with this job in flight; from the third on it is asked alone
    lease_worker: int | None = _to("worker.id", null=True)
    lease_deadline_ms: int | None = _integer(null=True)
    leased_ms: int | None = _integer(null=True)  # when it was last claimed
    cause: str | None = _text(null=True)  # of the latest failure
    finished_ms: int | None = _integer(null=True)
    # Copies of the current reading of the accepted response, written with it in one transaction.
    verdict: str | None = _text(null=True)
    expected: int | None = _integer(null=True)
    finish_reason: str | None = _text(null=True)
    found: str | None = _text(null=True)  # where its reasoning was found, whatever the verdict (app.model.found)
    reasoning_chars: int | None = _integer(null=True)
    content_chars: int | None = _integer(null=True)
    completion_tokens: int | None = _integer(null=True)
    latency_ms: int | None = _integer(null=True)
    preview: str | None = _text(null=True)
    loss_flags: str | None = _text(null=True)  # JSON list of what hints that text was lost; null for nothing
    imported: int = _integer(0)  # 1: the answer came with an import, so it says nothing about how fast a run is
    params: str | None = _text(null=True)  # JSON of settings that a retry gave this job, over sample and dataset


class Worker(SQLModel, table=True):
    """One start of a worker process; ids are never reused."""

    __tablename__ = "worker"
    __table_args__ = (
        UniqueConstraint("uuid", name="worker_uuid"),
        CheckConstraint("state IN ('live', 'draining', 'stopped', 'dead')", name="worker_state"),
        _partial("worker_open", "state IN ('live', 'draining')", "state"),
        {"sqlite_autoincrement": True, **STRICT},
    )
    id: int = _key()
    uuid: str = _text()
    name: str = _text()
    host: str = _text()
    pid: int = _integer()
    boot_id: str = _text()
    version: str = _text()
    slots: int = _integer()
    started_ms: int = _integer()
    heartbeat_ms: int = _integer()
    beat: int = _integer(0)  # counts renewals; the same number for a whole TTL of the rescuer's own clock means dead
    ttl_ms: int = _integer()
    state: str = _text("live")
    stopped_ms: int | None = _integer(null=True)


class Endpoint(SQLModel, table=True):
    """One identity of a model server: base URL, model and fingerprint. A change makes a new row."""

    __tablename__ = "endpoint"
    __table_args__ = (UniqueConstraint("base_url", "model", "fingerprint_sha256", name="endpoint_identity"), STRICT)
    id: int = _key()
    base_url: str = _text()  # without user info
    model: str = _text()
    fingerprint: str = _text()  # JSON of whitelisted fields
    fingerprint_sha256: str = _text()
    first_seen_ms: int = _integer()
    last_seen_ms: int = _integer()


class EndpointHealth(SQLModel, table=True):
    """Whether a worker may ask a server; its latest word, a row a worker and base URL."""

    __tablename__ = "endpoint_health"
    __table_args__ = (CheckConstraint("(up = 1) = (reason IS NULL)", name="down_for_a_reason"), STRICT)
    worker_id: int = _to("worker.id", primary=True)
    base_url: str = Field(sa_column=Column(Text, primary_key=True))
    up: int = _integer()  # 1: it is asked; 0: it is asked nothing until it is well again
    since_ms: int = _integer()
    reason: str | None = _text(null=True)


class Response(SQLModel, table=True):
    """What is known of a stored body: its HTTP facts, and when it stood. Append-only but for the two seq columns."""

    __tablename__ = "response"
    __table_args__ = (
        UniqueConstraint("job_id", "attempt", "turn", name="response_attempt"),
        CheckConstraint("superseded_seq IS NULL OR accepted_seq IS NOT NULL", name="superseded_was_accepted"),
        _partial(
            "response_accepted",
            "accepted_seq IS NOT NULL AND superseded_seq IS NULL",
            "job_id",
            "turn",
            unique=True,
        ),
        STRICT,
    )
    id: int = _key()
    job_id: int = _to("job.id")
    attempt: int = _integer()
    turn: int = _integer(0)
    accepted_seq: int | None = _integer(null=True)
    superseded_seq: int | None = _integer(null=True)
    late: int = _integer(0)  # came when its attempt was no longer the newest, or after the end
    worker_id: int | None = _to("worker.id", null=True)
    endpoint_id: int | None = _to("endpoint.id", null=True)
    leased_ms: int | None = _integer(null=True)
    requested_ms: int | None = _integer(null=True)
    received_ms: int = _integer()
    http_status: int | None = _integer(null=True)
    content_type: str | None = _text(null=True)
    request_id: str | None = _text(null=True)
    form: str = _text("chat")
    expected: int = _integer(1)
    profile: str = _text("think")
    raw_text_sent: int = _integer(0)
    scrubbed: int = _integer(0)
    request: str | None = _text(null=True)  # JSON of all that was sent but messages and tools
    request_sha256: str | None = _text(null=True)
    raw_bytes: int = _integer()  # before compression
    raw_sha256: str = _text()  # of the uncompressed bytes


class Body(SQLModel, table=True):
    """The bytes of a response. Apart from it, because its acceptance would write them a second time."""

    __tablename__ = "body"
    __table_args__ = (CheckConstraint("codec IN ('plain', 'zstd')", name="body_codec"), STRICT)
    response_id: int = _to("response.id", primary=True)
    codec: str = _text("plain")
    raw: bytes = _blob()


class Turn(SQLModel, table=True):
    """The answer that a conversation goes on from at each of its turns; accepted with the others at its end."""

    __tablename__ = "turn"
    __table_args__ = (Index("turn_response", "response_id"), STRICT)
    job_id: int = _to("job.id", primary=True)
    turn: int = Field(sa_column=Column(Integer, primary_key=True))
    response_id: int = _to("response.id")


class Unread(SQLModel, table=True):
    """A response that is stored and not yet read: as long as it stands here, its job is not offered."""

    __tablename__ = "unread"
    __table_args__ = (Index("unread_job", "job_id"), STRICT)
    response_id: int = _to("response.id", primary=True)
    job_id: int = _to("job.id")
    worker_id: int | None = _to("worker.id", null=True)


class Reading(SQLModel, table=True):
    """What one parser version sees in a body. Append-only; the newest seq is the current one."""

    __tablename__ = "reading"
    __table_args__ = (
        CheckConstraint(_one_of("verdict", Verdict), name="reading_verdict"),
        CheckConstraint("text_form IN ('plain', 'json')", name="reading_text_form"),
        STRICT,
    )
    response_id: int = _to("response.id", primary=True)
    seq: int = Field(sa_column=Column(Integer, primary_key=True))
    parser_version: int = _integer()
    verdict: str = _text()
    flags: str = _text("[]")  # JSON list, sorted
    loss_flags: str | None = _text(null=True)  # JSON list of what hints that text was lost; null for nothing
    found: str | None = _text(null=True)  # null: malformed
    reasoning: str | None = _text(null=True)  # null: not found; empty: found, and empty
    content: str | None = _text(null=True)
    text_form: str = _text("plain")  # json: both texts are ASCII JSON strings (a NUL or a lone surrogate)
    reasoning_chars: int | None = _integer(null=True)  # code points; SQL's length() stops at NUL
    content_chars: int | None = _integer(null=True)
    completion_tokens: int | None = _integer(null=True)
    preview: str | None = _text(null=True)  # the first characters of the content, safe to bind and to show
    tool_calls: int | None = _integer(null=True)
    finish_reason: str | None = _text(null=True)
    usage: str | None = _text(null=True)  # JSON
    parts: str | None = _text(null=True)  # JSON: lead, open tag and close tag of a split; the columns hold the rest
    choices: str | None = _text(null=True)  # JSON of every choice, where there are several


class TokenIds(SQLModel, table=True):
    """The server's token ids of a response: little-endian uint32, zstd. Append-only as readings are.

    A reading that sees other ids than the one before it has a row of its own; none at all in it means no ids any more.
    """

    __tablename__ = "token_ids"
    __table_args__ = (STRICT,)
    response_id: int = _to("response.id", primary=True)
    seq: int = Field(sa_column=Column(Integer, primary_key=True))
    prompt: bytes | None = _blob(null=True)
    answer: bytes | None = _blob(null=True)


class Failed(SQLModel, table=True):
    """One failed attempt. All are kept, with what came of the body."""

    __tablename__ = "failure"
    __table_args__ = (
        Index("failure_job", "job_id", "attempt"),
        Index("failure_time", "group_id", "at_ms"),
        Index("failure_response", "response_id"),  # without it the deletion of a response looks at every failure
        STRICT,
    )
    id: int = _key()
    job_id: int = _to("job.id")
    attempt: int = _integer()
    at_ms: int = _integer()
    cause: str = _text()
    http_status: int | None = _integer(null=True)
    message: str = _text()
    counted: int = _integer()
    worker_id: int | None = _to("worker.id", null=True)
    endpoint_id: int | None = _to("endpoint.id", null=True)
    response_id: int | None = _to("response.id", null=True)  # a whole body, stored as a response
    body: bytes | None = _blob(null=True)  # what came of a body that never ended
    leased_ms: int | None = _integer(null=True)
    group_id: int | None = _to("failure_group.id", null=True)


class FailureGroup(SQLModel, table=True):
    """Failed attempts of a dataset that went wrong in the same way; a few rows, whatever the number of failures."""

    __tablename__ = "failure_group"
    __table_args__ = (
        UniqueConstraint("dataset_id", "cause", "http_status", "message", name="failure_kind"),
        Index("failure_group_latest", "dataset_id", "last_ms"),
        STRICT,
    )
    id: int = _key()
    dataset_id: int = _to("dataset.id")
    cause: str = _text()
    http_status: int = _integer(0)  # 0: there was none
    message: str = _text()  # numbers, ids and hosts masked
    attempts: int = _integer(0)
    first_ms: int = _integer()
    last_ms: int = _integer()


class Counter(SQLModel, table=True):
    """How many, by triggers.

    `state:X`, `expected:VERDICT`, `unexpected:VERDICT`, `failed:CAUSE`, `flag:LOSS_FLAG`, `late`, `tokens`; of
    conversations also `turns` and `turns_answered`.
    """

    __tablename__ = "counter"
    __table_args__ = (STRICT,)
    dataset_id: int = _to("dataset.id", primary=True)
    metric: str = Field(sa_column=Column(Text, primary_key=True))
    n: int = _integer(0)


class Bucket(SQLModel, table=True):
    """What was finished in one minute, for rates and charts; kept by triggers."""

    __tablename__ = "bucket"
    __table_args__ = (STRICT,)
    dataset_id: int = _to("dataset.id", primary=True)
    minute: int = Field(sa_column=Column(Integer, primary_key=True))  # minutes since 1970
    done: int = _integer(0)
    failed: int = _integer(0)
    graded: int = _integer(0)
    captured: int = _integer(0)
    tokens: int = _integer(0)


class TriageCell(SQLModel, table=True):
    """Done jobs by how their answers ended and where their reasoning was found; kept by triggers."""

    __tablename__ = "triage"
    __table_args__ = (STRICT,)
    dataset_id: int = _to("dataset.id", primary=True)
    finish_reason: str = Field(sa_column=Column(Text, primary_key=True))
    found: str = Field(sa_column=Column(Text, primary_key=True))
    n: int = _integer(0)


class ReasoningLength(SQLModel, table=True):
    """Done jobs by the length of their reasoning, in bins that double; kept by triggers."""

    __tablename__ = "reasoning_length"
    __table_args__ = (STRICT,)
    dataset_id: int = _to("dataset.id", primary=True)
    least: int = Field(sa_column=Column(Integer, primary_key=True))  # characters
    n: int = _integer(0)


class Latency(SQLModel, table=True):
    """How long the bodies that workers stored took to come, in bins of app.model.bins; kept by triggers."""

    __tablename__ = "latency"
    __table_args__ = (STRICT,)
    dataset_id: int = _to("dataset.id", primary=True)
    least_ms: int = Field(sa_column=Column(Integer, primary_key=True))
    n: int = _integer(0)
    sum_ms: int = _integer(0)


class WorkerMinute(SQLModel, table=True):
    """What a worker brought in one minute: stored bodies and failed attempts; kept by triggers."""

    __tablename__ = "worker_minute"
    __table_args__ = (STRICT,)
    worker_id: int = _to("worker.id", primary=True)
    minute: int = Field(sa_column=Column(Integer, primary_key=True))  # minutes since 1970
    bodies: int = _integer(0)
    failed: int = _integer(0)


class Evaluator(SQLModel, table=True):
    """Who looks after the alarms that time triggers: a lease that any process may take over once it ran out."""

    __tablename__ = "evaluator"
    __table_args__ = (CheckConstraint("id = 1", name="one_evaluator"), STRICT)
    id: int = _key()
    holder: str = _text()
    until_ms: int = _integer()
    evaluated_ms: int = _integer()


class EventRow(SQLModel, table=True):
    """What happened to the run: worker starts and stops, holds, server changes, a person's actions."""

    __tablename__ = "event"
    __table_args__ = (Index("event_time", "at_ms"), Index("event_kind", "kind", "at_ms"), STRICT)
    id: int = _key()
    at_ms: int = _integer()
    kind: str = _text()
    dataset_id: int | None = _integer(null=True)
    worker_id: int | None = _integer(null=True)
    detail: str = _text("{}")  # JSON


METADATA = SQLModel.metadata


def table_of(model: type[SQLModel]) -> Table:
    """The Core table behind a SQLModel class; statements are written with it."""
    return cast("Table", model.__table__)  # type: ignore[attr-defined]


META = table_of(Meta)
DATASET = table_of(Dataset)
SOURCE = table_of(Source)
HOLD = table_of(Hold)
GATE_WINDOW = table_of(GateWindow)
ALARM = table_of(Alarm)
SAMPLE = table_of(Sample)
JOB = table_of(Job)
WORKER = table_of(Worker)
ENDPOINT = table_of(Endpoint)
ENDPOINT_HEALTH = table_of(EndpointHealth)
RESPONSE = table_of(Response)
BODY = table_of(Body)
TURN = table_of(Turn)
UNREAD = table_of(Unread)
READING = table_of(Reading)
TOKEN_IDS = table_of(TokenIds)
FAILURE = table_of(Failed)
COUNTER = table_of(Counter)
BUCKET = table_of(Bucket)
FAILURE_GROUP = table_of(FailureGroup)
TRIAGE = table_of(TriageCell)
REASONING_LENGTH = table_of(ReasoningLength)
LATENCY = table_of(Latency)
WORKER_MINUTE = table_of(WorkerMinute)
EVALUATOR = table_of(Evaluator)
EVENT = table_of(EventRow)
