"""The outermost layer: what holds for every answer, also for those that no route gave."""

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from app.web.hosts import Hosts, host_of

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # `no-referrer` would make the Origin of our own forms null
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_OURS = frozenset(name for name, _ in HEADERS)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

log = logging.getLogger("thinkledger.web")


class Shield:
    """Wraps an application: refuses foreign hosts and cross-origin writes, and sets the headers."""

    def __init__(self, app: App, hosts: Hosts, trusted: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._hosts = hosts
        self._trusted = trusted  # origins beside our own that may send changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        guarded = _Guarded(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await plain(guarded.send, *refusal)
            return
        try:
            await self._app(scope, receive, guarded.send)
        except Exception:  # the last line of defence: the person gets a number, the log the reason
            number = secrets.token_hex(4)
            log.exception("error %s at %s", number, scope["path"])
            if guarded.started:
                raise
            await plain(guarded.send, 500, f"Something went wrong here. The log tells more under {number}.")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        host = header(scope, b"host")
        if not self._hosts.accept(host):
            return 400, "This name is not known here. Start `thinkledger serve` with --allowed-host to add it."
        if scope["method"] not in SAFE_METHODS and not self._may_write(scope, str(host)):
            return 403, "A page of another site cannot change anything here."
        return None

    def _may_write(self, scope: Scope, host: str) -> bool:
        return header(scope, b"origin") in self._trusted or _same_origin(scope, host)


class _Guarded:
    """Sends on, with the headers and the time that the answer took here, and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._since_s = time.perf_counter()
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            took_ms = (time.perf_counter() - self._since_s) * 1000
            took = (b"server-timing", b"app;dur=%.1f" % took_ms)
            message["headers"] = [*_without_ours(message.get("headers", ())), *HEADERS, took]
        await self._send(message)


def _without_ours(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in _OURS]


def _same_origin(scope: Scope, host: str) -> bool:
    """What the browser says about where a write comes from; a client that says nothing is no browser."""
    site = header(scope, b"sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = header(scope, b"origin")
    if origin is None:
        return True
    scheme, _, authority = origin.partition("://")
    return scheme in ("http", "https") and host_of(authority) == host_of(host) and _port(authority) == _port(host)


def _port(authority: str) -> str:
    return authority.rpartition("]")[2].rpartition(":")[2] if ":" in authority.rpartition("]")[2] else ""


def header(scope: Scope, name: bytes) -> str | None:
    """The last header of that name, or None."""
    found = None
    for key, value in scope["headers"]:
        if key == name:
            found = value.decode("latin-1")
    return found


async def plain(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    """A short answer of plain text."""
    body = (text + "\n").encode()
    kind = (b"content-type", b"text/plain; charset=utf-8")
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [kind, length, *more]})
    await send({"type": "http.response.body", "body": body})
