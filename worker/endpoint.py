"""One OpenAI-compatible model server: the only user of the openai package.

Bytes are taken as they come, unparsed: bad JSON or UTF-8 in a 200 must reach the store first. The client never retries
by itself (its default repeats expensive generations silently) and follows no redirect.
"""

import errno
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
import anyio
import httpx2
import msgspec
import openai
from openai import DefaultAioHttpClient

from app.model.errors import UsageError
from app.model.lease import Cause
from worker.backoff import cause_of_status, retry_after
from worker.memory import Body
from worker.transport import KEPT_OF_REFUSAL, cap, is_whole, keep_alive

CONNECT_TIMEOUT_S = 10.0
HEALTH_TIMEOUT_S = 30.0  # a dead SGLang 0.5.8 says 503 only after 20 s
KEPT_OF_TOO_LARGE = 2**20
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP body, whatever its status."""

    body: bytes
    status: int
    content_type: str | None
    request_id: str | None
    retry_after_s: float | None
    requested_ms: int
    received_ms: int


class AskFailed(Exception):
    """No whole body came; `body` is what did come."""

    def __init__(
        self,
        cause: Cause,
        message: str,
        body: bytes | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.body = body or None
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(eq=False, slots=True)
class Endpoint:
    """A connection pool to one server. `root` has no /v1; `base_url` is what the client is given."""

    base_url: str
    root: str
    client: openai.AsyncOpenAI
    timeout_s: float
    max_body: int
    now_ms: Callable[[], int]
    headers: dict[str, Any] = field(default_factory=dict)  # of every request
    last_byte_s: float = field(default_factory=time.monotonic)
    _open: set[anyio.CancelScope] = field(default_factory=set)

    async def ask(self, body: dict[str, Any], memory: Body | None = None, timeout_s: float | None = None) -> Answer:
        """Send one request and read the whole body. Raises AskFailed where none came."""
        received = bytearray()
        requested_ms = self.now_ms()
        limit_s = self.timeout_s if timeout_s is None else min(timeout_s, self.timeout_s)
        scope = anyio.CancelScope(deadline=anyio.current_time() + limit_s)
        self._open.add(scope)
        try:
            with scope:
                return await self._exchange(body, received, requested_ms, memory)
        finally:
            self._open.discard(scope)
        raise self._given_up(scope, received, limit_s)

    def _given_up(self, scope: anyio.CancelScope, received: bytearray, limit_s: float) -> AskFailed:
        if anyio.current_time() >= scope.deadline:
            return AskFailed(Cause.TIMED_OUT, f"no whole answer within {limit_s:g} s", bytes(received))
        return AskFailed(
            Cause.UNREACHABLE, "the server stopped answering, so its open requests were cut", bytes(received)
        )

    async def _exchange(
        self, body: dict[str, Any], received: bytearray, requested_ms: int, memory: Body | None
    ) -> Answer:
        try:
            async with self._posted(body) as response:
                async for chunk in response.iter_bytes():
                    self.last_byte_s = time.monotonic()
                    if memory is not None:
                        await memory.grow(len(chunk))
                    received += chunk
                    self._check_size(received)
                return self._answer(bytes(received), response.status_code, response.headers, requested_ms)
        except openai.APIStatusError as error:
            self.last_byte_s = time.monotonic()
            return self._refusal(error.response, requested_ms)
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise translate(error, bytes(received)) from error
        except UnicodeEncodeError as error:
            raise AskFailed(Cause.UNSENDABLE, f"the request cannot be written as UTF-8: {error}") from error

    def _posted(self, body: dict[str, Any]) -> AbstractAsyncContextManager[openai.AsyncAPIResponse[Any]]:
        """The request, as it is: the client walks through typed arguments, a third of all that a request took."""
        create: Callable[..., Any] = self.client.chat.completions.with_streaming_response.create
        whole = {"model": body["model"], "messages": body["messages"], **body}  # in the order of the client's own
        posted: AbstractAsyncContextManager[openai.AsyncAPIResponse[Any]] = create(
            messages=openai.omit, model=openai.omit, extra_body=whole, extra_headers=self.headers
        )
        return posted

    def _check_size(self, received: bytearray) -> None:
        if len(received) > self.max_body:
            message = f"the body is over {self.max_body:,} bytes (--max-body); its first MiB is kept"
            raise AskFailed(Cause.TOO_LARGE, message, bytes(received[:KEPT_OF_TOO_LARGE]))

    def _refusal(self, response: httpx2.Response, requested_ms: int) -> Answer:
        status, body = response.status_code, response.content
        if is_whole(response):
            return self._answer(body, status, response.headers, requested_ms)
        cut = f"over {KEPT_OF_REFUSAL:,} bytes" if len(body) >= KEPT_OF_REFUSAL else "cut off"
        raise AskFailed(
            cause_of_status(status),
            f"HTTP {status}, whose body is {cut}; its beginning is kept",
            body,
            status,
            retry_after(response.headers.get("retry-after")),
        )

    def _answer(self, body: bytes, status: int, headers: httpx2.Headers, requested_ms: int) -> Answer:
        return Answer(
            body=body,
            status=status,
            content_type=headers.get("content-type"),
            request_id=headers.get("x-request-id"),
            retry_after_s=retry_after(headers.get("retry-after")),
            requested_ms=requested_ms,
            received_ms=self.now_ms(),
        )

    async def get(self, path: str, timeout_s: float = HEALTH_TIMEOUT_S) -> tuple[int, object]:
        """Status and JSON of a GET below the server's root; the JSON is None where there is none. Raises AskFailed."""
        try:
            with anyio.fail_after(timeout_s):
                response = await self.client.get(
                    f"{self.root}{path}", cast_to=httpx2.Response, options={"headers": self.headers}
                )
        except openai.APIStatusError as error:
            response = error.response
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise translate(error, b"") from error
        except TimeoutError as error:
            raise AskFailed(Cause.TIMED_OUT, f"GET {path}: nothing within {timeout_s:g} s") from error
        return response.status_code, _json(response.content)

    def cut(self) -> None:
        """Give up every open request: the server no longer answers."""
        for scope in list(self._open):
            scope.cancel()


def _json(body: bytes) -> object:
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value


def translate(error: BaseException, received: bytes) -> AskFailed:
    """Whether the request can have reached the server decides: only then may a job be to blame.

    With the aiohttp transport a server that disconnects after the request looks like a connect time-out, so aiohttp's
    own error behind it is read.
    """
    behind = _chain(error)
    reason = next((str(one) for one in reversed(behind) if str(one)), type(error).__name__)
    if any(isinstance(one, OSError) and one.errno in (errno.EMFILE, errno.ENFILE) for one in behind):
        message = "no connection can be opened: this process has too many files open (`ulimit -n`, --concurrency)"
        return AskFailed(Cause.OUT_OF_FILES, message)
    if any(isinstance(one, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) for one in behind):
        return AskFailed(Cause.UNREACHABLE, f"cannot connect: {reason}")
    if any(isinstance(one, aiohttp.SocketTimeoutError | httpx2.ReadTimeout) for one in behind):
        return AskFailed(Cause.TIMED_OUT, f"nothing came for too long: {reason}", received)
    return AskFailed(Cause.CUT, f"the connection broke: {reason}", received)


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def normal_url(url: str) -> tuple[str, str]:
    """The base URL (ending in /v1 unless another path is given) and the root below which /health lies."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    bare_name = "://" not in url and _port(parts, url) is None
    if parts.scheme not in ("http", "https") or not parts.hostname or bare_name:
        raise UsageError(f"--endpoint {url}: expected http://HOST:PORT, with or without /v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "--endpoint: no user, password, query or fragment. A key goes into an environment variable (--api-key-env)."
        )
    path = parts.path.rstrip("/") or "/v1"
    port = f":{parts.port}" if _port(parts, url) not in (None, _PORTS[parts.scheme]) else ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}{port}"
    return origin + path, origin + path.removesuffix("/v1")


def _port(parts: SplitResult, url: str) -> int | None:
    try:
        return parts.port
    except ValueError as error:
        raise UsageError(f"--endpoint {url}: {error}.") from error


def distinct(urls: Iterable[str]) -> list[str]:
    """The base URLs, each server once, however it is spelled: http://h:1 and http://h:1/v1 are one."""
    return list(dict.fromkeys(normal_url(url)[0] for url in urls))


@asynccontextmanager
async def connect(
    url: str,
    *,
    api_key: str | None,
    connections: int,
    timeout_s: float,
    stall_s: float,
    max_body: int,
    now_ms: Callable[[], int],
) -> AsyncIterator[Endpoint]:
    """An endpoint for the life of the process: building a client costs 28 ms, mostly its TLS context.

    `timeout_s` is the longest time for a whole answer, `stall_s` the longest silence within one.
    """
    base_url, root = normal_url(url)
    http_client = DefaultAioHttpClient(
        timeout=httpx2.Timeout(stall_s, connect=CONNECT_TIMEOUT_S, pool=None),
        limits=httpx2.Limits(max_connections=connections + 8, max_keepalive_connections=connections + 8),
        follow_redirects=False,
        trust_env=False,
        event_hooks={"response": [cap]},
    )
    keep_alive(http_client, connections + 8)
    headers: dict[str, Any] = {"Accept-Encoding": "identity"}  # the bytes that are stored are the bytes that were sent
    if api_key is None:
        headers["Authorization"] = openai.Omit()
    client = openai.AsyncOpenAI(api_key=api_key or "none", base_url=base_url, max_retries=0, http_client=http_client)
    try:
        yield Endpoint(base_url, root, client, timeout_s, max_body, now_ms, headers)
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()
