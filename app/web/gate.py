"""The layer that asks for a session before any route; only health, login and static files are free."""

from app.web.door import Door
from app.web.landing import login_for
from app.web.shield import App, Receive, Scope, Send, header, plain

_FREE = frozenset({"/healthz", "/readyz", "/login"})


class Gate:
    """Wraps an application; without a door everybody may come in."""

    def __init__(self, app: App, door: Door | None, root: str = "") -> None:
        self._app = app
        self._door = door
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._door is None or is_free(scope["path"]) or self._admitted(self._door, scope):
            await self._app(scope, receive, send)
        elif _is_person(scope):
            there = self._root + login_for(scope["path"], scope["query_string"])
            await plain(send, 303, "Log in first.", (b"location", there.encode()))
        else:
            await plain(send, 401, "Log in first, or send the token.", (b"www-authenticate", b"Bearer"))

    def _admitted(self, door: Door, scope: Scope) -> bool:
        return door.admits(header(scope, b"cookie"), header(scope, b"authorization"))


def _is_person(scope: Scope) -> bool:
    """Whether a page was asked for, which a login can follow; a script or a program is told plainly instead."""
    accepted = header(scope, b"accept")
    wanted = scope["path"] == "/" or (accepted is not None and "text/html" in accepted)
    return scope["method"] == "GET" and wanted


def is_free(path: str) -> bool:
    """Whether a path tells nothing about the store."""
    return path in _FREE or path.startswith("/static/")
