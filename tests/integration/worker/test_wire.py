"""What a model server receives: the request as it was made, in the bytes that the client's own typed call writes."""

import json
from typing import Any

import anyio
import httpx2
import openai
import pytest
from anyio.abc import SocketAttribute, SocketStream

from worker.endpoint import connect

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ROWS: list[dict[str, Any]] = [
    {"model": "kimi", "messages": [{"role": "user", "content": "plain"}]},
    {
        "model": "kimi", "temperature": 0.6, "separate_reasoning": False, "seed": 7, "stream": True,
        "messages": [
            {"role": "system", "content": "été 漢 \u2028 \x00"},
            {"role": "user", "content": [{"type": "text", "text": "parts"}], "name": "who", "unknown": None},
            {"role": "assistant", "content": None, "reasoning_content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": {}}}}],
        "chat_template_kwargs": {"thinking": True},
    },
]  # fmt: skip


class Listening:
    """A server that keeps the bodies of requests."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def answer(self, stream: SocketStream) -> None:
        async with stream:
            head, _, body = (await stream.receive()).partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            while len(body) < length:
                body += await stream.receive()
            self.bodies.append(body)
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")


async def _both(row: dict[str, Any]) -> list[bytes]:
    """The bytes of our request, and those of the client's typed call for it."""
    server = Listening()
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.answer)
        url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"  # noqa: S610 - no Django here
        limits: dict[str, Any] = {"connections": 1, "timeout_s": 30, "stall_s": 30, "max_body": 2**20}
        async with connect(url, api_key=None, now_ms=lambda: 0, **limits) as endpoint:
            assert (await endpoint.ask(row)).body == b"{}"
        extra = {key: value for key, value in row.items() if key not in ("messages", "model")}
        http_client = httpx2.AsyncClient(trust_env=False)
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", http_client=http_client) as client:
            typed: Any = client.chat.completions.with_raw_response.create
            await typed(model=row["model"], messages=row["messages"], extra_body=extra)
        tasks.cancel_scope.cancel()
    return server.bodies


@pytest.mark.parametrize("row", ROWS, ids=["plain", "everything"])
def test_a_request_goes_out_in_the_bytes_of_the_client_s_own_call(row: dict[str, Any]) -> None:
    ours, typed = anyio.run(_both, row)
    assert ours == typed
    assert json.loads(ours) == row
