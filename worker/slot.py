"""One job's whole life, from lease to settled."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import anyio
import anyio.to_thread

from app.capture import Asked, Reading, read_body
from app.leasing.claim import Prompt
from app.leasing.release import release
from app.leasing.settle import fail, state_of
from app.model.lease import Cause, Failure, Lease, Reply, Settle
from app.model.limits import CUTS_BEFORE_FAILED, DEATHS_BESIDE_OUTAGES
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.responses.keep import PackedReply
from app.responses.read import Judged
from app.responses.turns import end_here
from app.responses.unread import StoredBody, prompt_text
from app.store.codec import pack
from app.store.store import Store
from worker import backoff
from worker.asking import Question, question
from worker.endpoint import Answer, AskFailed
from worker.log import Log
from worker.memory import Body, Memory
from worker.pool import Pool, Server
from worker.quota import Quota
from worker.reading import patiently
from worker.refusal import words_of
from worker.shutdown import Ending
from worker.spooling import Spooling
from worker.turns import next_turn, state_after, turn_asked, turn_stored

_TELLING = 4  # characters of a key that could not as well be a word's
LARGE = 64 * 1024  # bytes from which compressing and reading leave the event loop's thread
MayAsk = Callable[[], bool]
Result = TypeVar("Result")


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Tools:
    """What a slot works with."""

    store: Store
    pool: Pool
    ending: Ending
    log: Log
    api_key: str | None
    spooling: Spooling
    quota: Quota = field(default_factory=Quota)
    memory: Memory = field(default_factory=Memory)


@dataclass(slots=True)
class Place:
    """What a job has at its server until it leaves, once: with its answer, or when a failure was heeded."""

    server: Server
    pool: Pool
    left: bool = False

    def leave(self) -> None:
        """Let somebody else be asked."""
        if not self.left:
            self.left = True
            self.pool.give_back(self.server)


async def run_one(lease: Lease, prompt: Prompt, server: Server, tools: Tools, may_ask: MayAsk = _always) -> None:
    """One job from lease to settled, a conversation turn by turn. Each body is stored before anything judges it."""
    state: JobState | None = None
    place = Place(server, tools.pool)
    try:
        if prompt.conversation is None:
            with tools.memory.body() as memory:
                state = await _ask_and_settle(lease, prompt, place, tools, memory)
        else:
            state = await _converse(lease, prompt, place, tools, may_ask)
    finally:
        place.leave()
        tools.quota.ended(state)


async def _converse(lease: Lease, prompt: Prompt, place: Place, tools: Tools, may_ask: MayAsk) -> JobState | None:
    """A conversation, as far as this worker may ask. Its place at the server is kept between turns."""
    asking: tuple[Lease, Prompt] | None = (lease, prompt)
    state: JobState | None = None

    def may_go_on() -> bool:
        return may_ask() and not tools.ending.draining and place.server.is_well()

    while asking is not None:
        lease, prompt = asking
        if prompt.conversation is not None and prompt.conversation.prompt() is None:
            return await tools.spooling.persist(end_here, lease)
        with tools.memory.body() as memory:
            state = await _ask_and_settle(lease, prompt, place, tools, memory)
        if state is not JobState.LEASED:
            return state
        asking = await next_turn(lease, tools.store, tools.spooling, may_go_on)
    return None


async def _ask_and_settle(lease: Lease, prompt: Prompt, place: Place, tools: Tools, memory: Body) -> JobState | None:
    server = place.server
    asked = question(prompt, server.default_model, server.dialect)
    asked_s = time.monotonic()
    try:
        answer = await server.endpoint.ask(asked.body, memory)
    except AskFailed as error:
        died = error.cause is Cause.CUT and await server.died(lease.job)
        failure = _failure_without_body(lease, server, error, tools, died=died)
        return await _settle_failure(tools, place, failure, error.retry_after_s, time.monotonic() - asked_s)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await tools.spooling.persist(release, lease)
        raise
    if answer.status == 200 and prompt.conversation is None:  # a refusal may close the server: first that is heeded
        place.leave()
    state: JobState | None = None
    with anyio.CancelScope(shield=True):  # the answer is paid for: a shutdown may not lose it
        state = await _record(lease, prompt, asked, answer, place, tools)
    return state  # noqa: RET504 - a scope may swallow, and a return within it would hide that


async def _record(
    lease: Lease, prompt: Prompt, asked: Question, answer: Answer, place: Place, tools: Tools
) -> JobState | None:
    server = place.server
    body, scrubbed = scrub_refusal(answer, tools.api_key)
    reply = _reply(lease, asked, answer, server, body, scrubbed)
    if prompt.conversation is not None:
        reply = replace(reply, turn=prompt.conversation.turn)
    response = await tools.spooling.keep(PackedReply(reply, await _beside(body, lambda: pack(body))), prompt)
    if response is None:
        return None
    about = Asked(None if asked.expected else False, asked.profile, prompt_text(prompt.messages), asked.form)
    reading = await _beside(body, lambda: read_body(answer.status, body, about))
    latency_ms = answer.received_ms - answer.requested_ms
    failure = None
    if reading.verdict is Verdict.MALFORMED:
        failure = _failure_of_body(lease, server, answer.status, reading, body, answer.retry_after_s)
        _heed(tools, place, failure, answer.retry_after_s, latency_ms / 1000)
    else:
        server.answered(lease.job)
    turn = turn_asked(response, lease, prompt, asked, body, reading, tools.store.now_ms())
    judged = await _beside(
        body, lambda: Judged(response, lease, reading, asked.expected, latency_ms, failure, server.number, turn)
    )
    accepted = await tools.spooling.settle(judged)
    if failure is not None:
        _report(tools, server, failure)
        return await patiently(lambda: state_of(tools.store, lease), tools.ending)
    if turn is not None and not turn.last:
        return await state_after(turn, tools.store, tools.spooling)
    return JobState.DONE if accepted else None


async def settle_stored(stored: StoredBody, tools: Tools) -> None:
    """Read and settle a body that a dead worker, or this one at its last end, had stored and not read."""
    reading = await _beside(stored.body, stored.read)
    failure = None
    if stored.fault is not None:
        tools.log.warning("body_unreadable", response=stored.response, reason=stored.fault)
    if reading.verdict is Verdict.MALFORMED:
        status = 200 if stored.http_status is None else stored.http_status
        words = words_of(reading, status, stored.body) if stored.fault is None else stored.fault
        failure = _failure(stored.lease, _cause_of(status, reading), words, well=False, status=status)
    about = (
        stored.response, stored.lease, reading, stored.asked.expected, stored.latency_ms, failure,
        None if stored.fault is not None else stored.endpoint,  # the server is not to blame
        turn_stored(stored, reading),
    )  # fmt: skip
    await tools.spooling.settle(await _beside(stored.body, lambda: Judged(*about)))


async def _beside(body: bytes, work: Callable[[], Result]) -> Result:
    """What is made of a body; of a large one not in the event loop's thread."""
    return work() if len(body) < LARGE else await anyio.to_thread.run_sync(work)


def scrub_refusal(answer: Answer, api_key: str | None) -> tuple[bytes, bool]:
    """A body that is no answer without our key, which some servers echo. An answer's bytes are never touched."""
    if answer.status == 200 or not api_key or api_key.encode() not in answer.body:
        return answer.body, False
    return answer.body.replace(api_key.encode(), b"[secret]"), True


def scrub_part(body: bytes, api_key: str) -> bytes:
    """The beginning of a body without our key, nor the beginning of it where the body ends in its middle."""
    key = api_key.encode()
    body = body.replace(key, b"[secret]")
    for length in range(len(key) - 1, _TELLING - 1, -1):
        if body.endswith(key[:length]):
            return body[:-length] + b"[secret]"
    return body


def _reply(lease: Lease, asked: Question, answer: Answer, server: Server, body: bytes, scrubbed: bool) -> Reply:
    return Reply(
        lease=lease,
        body=body,
        http_status=answer.status,
        requested_ms=answer.requested_ms,
        received_ms=answer.received_ms,
        form=asked.form,
        request=asked.settings,
        request_sha256=asked.sha256,
        expected=asked.expected,
        profile=asked.profile,
        raw_text_sent=asked.raw_text_sent,
        endpoint=server.number,
        request_id=answer.request_id,
        content_type=answer.content_type,
        scrubbed=scrubbed,
    )


def _cause_of(status: int, reading: Reading) -> Cause:
    return backoff.cause_of_flags(reading.flags) if status == 200 else backoff.cause_of_status(status)


def _failure_of_body(
    lease: Lease, server: Server, status: int, reading: Reading, body: bytes, retry_after_s: float | None
) -> Failure:
    return _failure(
        lease,
        _cause_of(status, reading),
        words_of(reading, status, body),
        well=server.answered_others_lately(lease.job),
        status=status,
        server=server,
        retry_after_s=retry_after_s,
    )


def _failure_without_body(lease: Lease, server: Server, error: AskFailed, tools: Tools, *, died: bool) -> Failure:
    well = server.answered_others_lately(lease.job)
    words, body = tools.log.scrub(str(error)), error.body
    if body is not None and tools.api_key and error.status is not None:
        body = scrub_part(body, tools.api_key)
    failure = _failure(
        lease,
        error.cause,
        words,
        well=well,
        status=error.status,
        server=server,
        body=body,
        retry_after_s=error.retry_after_s,
    )
    suspicious = died or (lease.alone and error.cause is Cause.CUT)
    if not suspicious:
        return failure
    if not lease.alone or lease.deaths + 1 < _deaths_that_prove(server, died=died):
        return replace(failure, settle=Settle.RELEASE, counted=False, died=True)
    words = f"the endpoint died with only this job in flight, as it had {lease.deaths} times before: {words}"
    return replace(failure, cause=Cause.KILLS_SERVER, message=words, settle=Settle.GIVE_UP, counted=True, died=True)


def _deaths_that_prove(server: Server, *, died: bool) -> int:
    """How often the server must have gone with a job that is asked alone, for the job to be the reason.

    One that is well right after may have lost the connection by chance, and one that comes and goes by itself goes
    beside every second job.
    """
    if server.outages.are_its_own(time.monotonic()):
        return DEATHS_BESIDE_OUTAGES
    return 1 if died else CUTS_BEFORE_FAILED


def _failure(
    lease: Lease,
    cause: Cause,
    message: str,
    *,
    well: bool,
    status: int | None,
    server: Server | None = None,
    body: bytes | None = None,
    retry_after_s: float | None = None,
) -> Failure:
    decision = backoff.decide(
        cause, tries=lease.tries, server_well=well, retry_after_s=retry_after_s, random=random.random
    )
    return Failure(
        lease=lease,
        cause=cause,
        message=message,
        settle=decision.settle,
        counted=decision.counted,
        due_ms=time.time_ns() // 1_000_000 + decision.wait_ms,
        http_status=status,
        body=body,
        endpoint=None if server is None else server.number,
        response_stored=body is None and status is not None,
    )


async def _settle_failure(
    tools: Tools, place: Place, failure: Failure, retry_after_s: float | None, took_s: float
) -> JobState | None:
    _heed(tools, place, failure, retry_after_s, took_s)
    state: JobState | None = None
    with anyio.CancelScope(shield=True):
        state = await tools.spooling.persist(fail, failure)
    _report(tools, place.server, failure)
    return state


def _heed(tools: Tools, place: Place, failure: Failure, retry_after_s: float | None, took_s: float) -> None:
    """What a failure means for the endpoint. The job is done there."""
    place.leave()
    server, rule, now_s = place.server, backoff.RULES[failure.cause], time.monotonic()
    url = server.endpoint.base_url
    if rule.holds_endpoint or failure.died:
        if tools.pool.hold(server, f"a request ended with {failure.cause}", wants_answer=False):
            tools.log.warning("endpoint_down", endpoint=url)
    elif rule.slows_endpoint:
        server.pressure.refused(now_s, server.busy, retry_after_s, took_s)
    elif rule.may_be_the_server_s and server.pressure.failed(
        now_s, failed_before=failure.lease.tries > 0, took_s=took_s
    ):
        why = "failures in a row, and no answer between them"
        tools.pool.hold(server, why, wants_answer=True)
        tools.log.warning("endpoint_ill", endpoint=url, reason=why)


def _report(tools: Tools, server: Server, failure: Failure) -> None:
    tools.log.warning(
        "attempt_failed",
        job=failure.lease.job,
        attempt=failure.lease.attempt,
        cause=failure.cause,
        endpoint=server.endpoint.base_url,
        # A server's words may quote the prompt, and no sample text goes into logs.
        why=failure.message if failure.http_status is None else f"HTTP {failure.http_status}",
    )
    if backoff.RULES[failure.cause].stops_worker:
        tools.ending.stop_for_person(failure.cause, server.endpoint.base_url)
