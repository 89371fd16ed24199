"""The layer that takes off what a proxy puts, or leaves, before every path."""

from app.web.shield import App, Receive, Scope, Send


class Rooted:
    """Wraps an application that knows its paths from `/` on. A proxy may have taken the prefix off already."""

    def __init__(self, app: App, root: str) -> None:
        self._app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if self._root and (path == self._root or path.startswith(self._root + "/")):
            path = path.removeprefix(self._root) or "/"
        await self._app({**scope, "path": path, "raw_path": path.encode(), "root_path": ""}, receive, send)
