"""The routes, as a bare ASGI application: a framework would cost more than all the rest of a request."""

import time
from collections.abc import Callable

from worker.simulator.behaviour import Behaviour
from worker.simulator.chat import Chat
from worker.simulator.config import Config
from worker.simulator.control import Control
from worker.simulator.delivery import wait_forever
from worker.simulator.http import Receive, Scope, Send, read_body, respond, respond_json, unless_gone
from worker.simulator.info import is_vllm, models, server_info
from worker.simulator.reply import Problem
from worker.simulator.slots import Slots
from worker.simulator.stats import Object, Stats
from worker.simulator.timeline import Timeline
from worker.simulator.wire import envelope

_METHODS = {
    "/v1/chat/completions": "POST",
    "/v1/models": "GET",
    "/health": "GET",
    "/health_generate": "GET",
    "/server_info": "GET",
    "/get_server_info": "GET",
    "/simulator/stats": "GET",
    "/simulator/reset": "POST",
    "/simulator/play": "POST",
    "/simulator/outage": "POST",
}
_OPEN_ROUTES = ("/health", "/simulator/")  # these ask for no key: probes and tests come without one


class Application:
    """One simulated server."""

    def __init__(
        self,
        config: Config,
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        cut_all: Callable[[], None] = lambda: None,
        go_away: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        timeline = Timeline(clock)
        slots = Slots(config.slots, timeline)
        self.stats = Stats()
        self._key = config.api_key
        self._port = port
        self._timeline = timeline
        self._behaviour = Behaviour(config)
        self._chat = Chat(self._behaviour, self.stats, slots, timeline, cut_all)
        self._control = Control(self._behaviour, self.stats, slots, timeline)
        self._go_away = go_away  # for so many seconds nobody listens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        path: str = scope["path"]
        method = _METHODS.get(path)
        authorization, content_type = _headers(scope)
        if method is None:
            await respond_json(send, {"detail": "Not Found"}, 404)
        elif method != scope["method"]:
            await respond_json(send, {"detail": "Method Not Allowed"}, 405)
        elif self._denied(path, authorization):
            await respond_json(send, {"error": "Unauthorized"}, 401)
        elif method == "GET" and not path.startswith("/simulator/") and self._behaviour.silent(self._timeline.seconds):
            await unless_gone(wait_forever(), receive)
        elif method == "GET":
            await self._get(path, scope["query_string"], send)
        elif path != "/v1/chat/completions":
            await self._command(path, receive, send)
        elif not content_type.startswith(b"application/json"):
            text = "1 validation error: Unsupported Media Type: Only 'application/json' is allowed"
            await respond(send, 400, envelope(400, Problem(text, "Bad Request")))
        else:
            await self._chat(authorization.removeprefix(b"Bearer ").decode("latin-1"), receive, send)

    def _denied(self, path: str, authorization: bytes) -> bool:
        if self._key is None or path.startswith(_OPEN_ROUTES):
            return False
        return authorization != f"Bearer {self._key}".encode()

    async def _get(self, path: str, query: bytes, send: Send) -> None:
        config = self._behaviour.config
        if path.startswith("/health"):
            await respond(send, 200 if self._behaviour.healthy(self._timeline.seconds) else 503, b"", "")
        elif path == "/simulator/stats":
            await respond_json(send, self._control.stats(query))
        elif path == "/v1/models":
            await respond_json(send, models(config))
        elif is_vllm(config):
            await respond_json(send, {"detail": "Not Found"}, 404)
        else:
            await respond_json(send, server_info(config, self._port))

    async def _command(self, path: str, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        if body is None:
            return
        try:
            playing = self._obey(path, body)
        except ValueError as error:
            await respond(send, 400, envelope(400, Problem(str(error), "BadRequestError")))
        else:
            await respond_json(send, playing)

    def _obey(self, path: str, body: bytes) -> Object:
        if path == "/simulator/reset":
            return self._control.reset()
        if path == "/simulator/play":
            return self._control.play(body)
        seconds = self._control.outage(body)
        self._go_away(seconds)
        return {"seconds": seconds}


def _headers(scope: Scope) -> tuple[bytes, bytes]:
    """What the headers say of the key and of the body."""
    authorization = content_type = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            authorization = value
        elif name == b"content-type":
            content_type = value
    return authorization, content_type
