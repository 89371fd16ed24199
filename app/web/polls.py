"""The layer that answers tabs which poll the same page with one making of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.web.pages import LIVE
from app.web.sharing import Sharing
from app.web.shield import SAFE_METHODS, App, Message, Receive, Scope, Send, header

NEW_ENOUGH_S = 1.0  # half the shortest choice of the page; its header says of when it is
_APART = ("/exports/", "/api/", "/static/")  # no pages: downloads are streams of any length


@dataclass(frozen=True, slots=True)
class _Page:
    """An answer as it goes out to each tab."""

    start: Message
    body: bytes

    @property
    def tag(self) -> bytes | None:
        return next((value for name, value in self.start["headers"] if name == b"etag"), None)


class Polls:
    """Wraps an application. A tab that polls is shown its page of at most a second ago, and never of before a change.

    Only polls are shared: a page that a person opens is made for them. A page depends on nothing of who asks but its
    address, and whoever comes this far may see all of them.
    """

    def __init__(self, app: App, now_s: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now_s = now_s
        self._changed_s = now_s()  # when something was last changed through this server
        self._sharing: Sharing[_Page] = Sharing(NEW_ENOUGH_S, now_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in SAFE_METHODS:
            await self._app(scope, receive, self._noting_changes(send))
        elif _is_poll(scope):
            await self._poll(scope, send)
        else:
            await self._app(scope, receive, send)

    def _noting_changes(self, send: Send) -> Send:
        """A change is committed when its answer begins: what was begun before it is shown to nobody from now on."""

        async def sends(message: Message) -> None:
            self._changed_s = self._now_s()
            await send(message)

        return sends

    async def _poll(self, scope: Scope, send: Send) -> None:
        address = (scope["path"], scope["query_string"])
        since_s = max(self._now_s() - NEW_ENOUGH_S, self._changed_s)
        page = await self._sharing.made(address, lambda: self._made(scope), since_s)
        if page.tag is not None and header(scope, b"if-none-match") == page.tag.decode("latin-1"):
            unchanged = [(name, value) for name, value in page.start["headers"] if name != b"content-length"]
            await send({**page.start, "status": 304, "headers": unchanged})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({**page.start})
            await send({"type": "http.response.body", "body": page.body})

    async def _made(self, scope: Scope) -> _Page:
        """The whole answer, whatever the first who asked has of it already."""
        starts: list[Message] = []
        parts: list[bytes] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                starts.append(message)
            else:
                parts.append(message.get("body", b""))

        await self._app({**scope, "headers": _without_tag(scope)}, receive, send)
        return _Page(starts[0], b"".join(parts))


def _is_poll(scope: Scope) -> bool:
    asked = scope["method"] == "GET" and header(scope, LIVE.encode()) is not None
    return asked and not scope["path"].startswith(_APART)


def _without_tag(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in scope["headers"] if name != b"if-none-match"]
