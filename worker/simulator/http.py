"""The few lines of ASGI that the simulator needs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping, Sequence
from typing import Any

import msgspec

Scope = MutableMapping[str, Any]
ASGIMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[ASGIMessage]]
Send = Callable[[ASGIMessage], Awaitable[None]]
Headers = Sequence[tuple[str, str]]


async def read_body(receive: Receive) -> bytes | None:
    """The whole body of a request; None when the client hung up before its end."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        return bytes(message.get("body", b""))
    parts: list[bytes] = []
    while message["type"] == "http.request":
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
        message = await receive()
    return None


async def start(send: Send, status: int, content_type: str, length: int | None, headers: Headers = ()) -> None:
    """Send the head of a reply; without a length the body comes in chunks."""
    raw = [(b"content-type", content_type.encode())] if content_type else []
    if length is not None:
        raw.append((b"content-length", str(length).encode()))
    raw += [(name.encode(), value.encode()) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def write(send: Send, body: bytes, more: bool) -> None:
    """Send a part of the body."""
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def respond(send: Send, status: int, body: bytes, content_type: str = "application/json") -> None:
    """Send a whole reply."""
    await start(send, status, content_type, len(body))
    await write(send, body, more=False)


async def respond_json(send: Send, value: object, status: int = 200) -> None:
    """Send an object as JSON."""
    await respond(send, status, msgspec.json.encode(value))


async def unless_gone(work: Coroutine[object, object, None], receive: Receive) -> bool:
    """Do the work, but drop it when the client hangs up first. True when it was done to its end."""
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        watching.cancel()
        working.cancel()  # changes nothing when it is done
        await asyncio.gather(working, watching, return_exceptions=True)
    if working.cancelled():
        return False
    working.result()
    return True


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
