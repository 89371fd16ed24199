"""A completion as an event stream, in the chunks that servers send."""

import os
import time
from collections.abc import Iterator, Sequence

import msgspec

from worker.simulator import tokens
from worker.simulator.filing import Dialect, Message
from worker.simulator.request import ChatRequest

# Servers send a chunk for every token or two. Chunks of an odd length cut markers and words in two, as those do.
CHUNK_CHARS = 23

Object = dict[str, object]


def events(messages: Sequence[Message], request: ChatRequest, usage: Object) -> Iterator[bytes]:
    """The events of a stream: every choice in turn, usage where it was asked for, and the end."""
    identities = [os.urandom(16).hex() for _ in messages]
    created = int(time.time())
    include_usage = request.stream_options is not None and request.stream_options.include_usage

    def event(index: int, choices: list[Object], extra: Object | None = None) -> bytes:
        head: Object = {
            "id": identities[index],
            "object": "chat.completion.chunk",
            "created": created,
            "model": request.model,
            "choices": choices,
        }
        return b"data: " + msgspec.json.encode(head | (extra or {})) + b"\n\n"

    for index, message in enumerate(messages):
        for delta, finish in _deltas(message):
            yield event(index, [_chunk(index, message, delta, finish)])
    if include_usage:
        yield event(0, [], {"usage": usage})
    yield b"data: [DONE]\n\n"


def _chunk(index: int, message: Message, delta: Object, finish: str | None) -> Object:
    chunk: Object = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    if message.dialect is Dialect.SGLANG:
        chunk["matched_stop"] = tokens.END if finish == "stop" else None
    return chunk


def _deltas(message: Message) -> Iterator[tuple[Object, str | None]]:
    """What each chunk adds, and the finish reason in the last one."""
    sglang = message.dialect is Dialect.SGLANG
    key = "reasoning_content" if sglang else "reasoning"
    quiet: Object = {key: None} if sglang else {}  # SGLang names the field in every chunk
    yield quiet | {"role": "assistant", "content": ""}, None
    for piece in _pieces(message.reasoning):
        yield {key: piece}, None
    for piece in _pieces(message.content):
        yield quiet | {"content": piece}, None
    for number, call in enumerate(message.tool_calls):
        function = {"name": call.name, "arguments": call.arguments}
        yield quiet | {"tool_calls": [{"id": call.id, "index": number, "type": "function", "function": function}]}, None
    yield (quiet if sglang else {"content": ""}), message.finish


def _pieces(text: str | None) -> Iterator[str]:
    for start in range(0, len(text or ""), CHUNK_CHARS):
        yield (text or "")[start : start + CHUNK_CHARS]
