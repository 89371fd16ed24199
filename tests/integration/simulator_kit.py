"""The simulator, asked over real sockets."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

from tests.support.simulator import PATIENCE_SECONDS, Simulator
from worker.simulator.answers import answer_of

PROMPT = "Why is the sky blue?"

ANSWER = answer_of(PROMPT)

TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]


@dataclass(frozen=True)
class Got:
    """A whole HTTP reply."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = self.json["choices"][0]["message"]
        return message

    @property
    def finish(self) -> str:
        finish: str = self.json["choices"][0]["finish_reason"]
        return finish


def send(simulator: Simulator, method: str, path: str, body: object = None, **headers: str) -> Got:
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=PATIENCE_SECONDS)
    try:
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"content-type": "application/json"} | headers)
        response = connection.getresponse()
        return Got(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def ask(simulator: Simulator, prompt: str = PROMPT, **fields: object) -> Got:
    request = {"model": "kimi-k2.5", "messages": [{"role": "user", "content": prompt}], **fields}
    return send(simulator, "POST", "/v1/chat/completions", request)


def ask_and_wait(simulator: Simulator, prompt: str = PROMPT, **fields: object) -> socket.socket:
    """Ask without reading: the connection stays open until it is closed."""
    request = {"model": "kimi-k2.5", "messages": [{"role": "user", "content": prompt}], **fields}
    body = json.dumps(request).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n"
    connection = socket.create_connection(("127.0.0.1", simulator.port), PATIENCE_SECONDS)
    connection.sendall(head.encode() + b"content-type: application/json\r\n\r\n" + body)
    return connection


def joined(body: bytes, key: str, index: int = 0) -> tuple[str, str, str | None]:
    """Reasoning, content and finish reason of one choice of an event stream."""
    reasoning, content, finish = "", "", None
    for event in body.decode().split("\n\n"):
        if not event.startswith("data: {"):
            continue
        for choice in json.loads(event.removeprefix("data: "))["choices"]:
            if choice["index"] == index:
                reasoning += choice["delta"].get(key) or ""
                content += choice["delta"].get("content") or ""
                finish = choice["finish_reason"] or finish
    return reasoning, content, finish
