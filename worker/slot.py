"""One job's whole life, from lease to settled."""

import random
import time
from dataclasses import dataclass

import anyio
import anyio.to_thread

from app.capture import Asked, Reading, read_body
from app.leasing.claim import Prompt
from app.leasing.release import release
from app.leasing.settle import fail
from app.model.lease import Cause, Failure, Lease, Reply
from app.model.verdicts import Verdict
from app.responses.keep import PackedReply
from app.responses.read import Judged
from app.responses.unread import StoredBody, prompt_text
from app.store.codec import Packed, pack
from app.store.store import Store
from worker import backoff
from worker.asking import Question, question
from worker.endpoint import Answer, AskFailed
from worker.log import Log
from worker.pool import Pool, Server
from worker.refusal import words_of
from worker.shutdown import Ending
from worker.spooling import Spooling

LARGE = 64 * 1024  # bytes from which compressing and reading leave the event loop's thread


@dataclass(frozen=True, slots=True)
class Tools:
    """What a slot works with."""

    store: Store
    pool: Pool
    ending: Ending
    log: Log
    api_key: str | None
    spooling: Spooling


async def run_one(lease: Lease, prompt: Prompt, server: Server, tools: Tools) -> None:
    """One job from lease to settled. The body is stored before anything judges it."""
    asked = question(prompt, server.default_model, server.dialect)
    try:
        answer = await server.endpoint.ask(asked.body)
    except AskFailed as error:
        await _settle_failure(tools, server, _failure_without_body(lease, server, error, tools))
        return
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await tools.spooling.persist(release, lease)
        raise
    finally:
        tools.pool.give_back(server)
    with anyio.CancelScope(shield=True):  # the answer is paid for: a shutdown may not lose it
        await _record(lease, prompt, asked, answer, server, tools)


async def _record(lease: Lease, prompt: Prompt, asked: Question, answer: Answer, server: Server, tools: Tools) -> None:
    body, scrubbed = scrub_refusal(answer, tools.api_key)
    reply = _reply(lease, asked, answer, server, body, scrubbed)
    response = await tools.spooling.keep(PackedReply(reply, await _pack(body)), prompt)
    if response is None:
        return
    about = Asked(None if asked.expected else False, asked.profile, prompt_text(prompt.messages), asked.form)
    reading = await _read(answer.status, body, about)
    failure = None
    if reading.verdict is Verdict.MALFORMED:
        failure = _failure_of_body(lease, server, answer.status, reading, body, answer.retry_after_s)
        _heed(tools, server, failure.cause, answer.retry_after_s)
    else:
        server.answered(lease.job)
    latency_ms = answer.received_ms - answer.requested_ms
    judged = Judged(response, lease, reading, asked.expected, latency_ms, failure, server.number)
    await tools.spooling.settle(judged)
    if failure is not None:
        _report(tools, server, failure)


async def settle_stored(stored: StoredBody, tools: Tools) -> None:
    """Read and settle a body that a dead worker, or this one at its last end, had stored and not read."""
    reading = await _read(stored.http_status, stored.body, stored.asked)
    failure = None
    if reading.verdict is Verdict.MALFORMED:
        status = 200 if stored.http_status is None else stored.http_status
        words = words_of(reading, status, stored.body)
        failure = _failure(stored.lease, _cause_of(status, reading), words, well=False, status=status)
    judged = Judged(
        stored.response, stored.lease, reading, stored.asked.expected, stored.latency_ms, failure, stored.endpoint
    )
    await tools.spooling.settle(judged)


async def _pack(body: bytes) -> Packed:
    return pack(body) if len(body) < LARGE else await anyio.to_thread.run_sync(pack, body)


async def _read(status: int | None, body: bytes, asked: Asked) -> Reading:
    if len(body) < LARGE:
        return read_body(status, body, asked)
    return await anyio.to_thread.run_sync(read_body, status, body, asked)


def scrub_refusal(answer: Answer, api_key: str | None) -> tuple[bytes, bool]:
    """A body that is no answer without our key, which some servers echo. An answer's bytes are never touched."""
    if answer.status == 200 or not api_key or api_key.encode() not in answer.body:
        return answer.body, False
    return answer.body.replace(api_key.encode(), b"[secret]"), True


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


def _failure_without_body(lease: Lease, server: Server, error: AskFailed, tools: Tools) -> Failure:
    well = server.answered_others_lately(lease.job)
    words = tools.log.scrub(str(error))
    return _failure(lease, error.cause, words, well=well, status=error.status, server=server, body=error.body)


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


async def _settle_failure(tools: Tools, server: Server, failure: Failure) -> None:
    with anyio.CancelScope(shield=True):
        await tools.spooling.persist(fail, failure)
    _heed(tools, server, failure.cause, None)
    _report(tools, server, failure)


def _heed(tools: Tools, server: Server, cause: Cause, retry_after_s: float | None) -> None:
    """What a failure means for the endpoint and for the worker."""
    rule = backoff.RULES[cause]
    if rule.holds_endpoint and server.well:
        server.well = False
        tools.pool.wake()
        tools.log.warning("endpoint_down", endpoint=server.endpoint.base_url)
    if rule.slows_endpoint:
        server.pressure.refused(time.monotonic(), retry_after_s)


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
