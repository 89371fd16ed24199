"""The bytes of a reply: completions, event streams and error envelopes in the shapes that real servers send."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from worker.simulator import tokens
from worker.simulator.filing import Dialect, Message
from worker.simulator.reply import JSON, Problem, Reply
from worker.simulator.request import ChatRequest
from worker.simulator.stream import events

EVENTS = "text/event-stream; charset=utf-8"

_FILLER = (b"The filler goes on and on. " * 40_000)[: 1 << 20]

Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A reply as bytes. The pieces may repeat one object, so that a huge body costs no memory."""

    status: int
    content_type: str
    pieces: Sequence[bytes]
    headers: tuple[tuple[str, str], ...] = ()
    streamed: bool = False

    @property
    def size(self) -> int:
        """How many bytes the body has."""
        return sum([len(piece) for piece in self.pieces])


def render(replies: Sequence[Reply], request: ChatRequest, rendered_prompt: str) -> Rendered:
    """The bytes of a reply with one element a choice; what is no completion has only its first."""
    first = replies[0]
    if first.problem is not None:
        body = envelope(first.status, first.problem)
        return Rendered(first.status, JSON, (body,), first.headers)
    messages = [reply.message for reply in replies if reply.message is not None]
    if not messages:
        return _ready(first, request)
    usage = _usage(messages, tokens.count(rendered_prompt))
    if request.stream:
        return Rendered(first.status, EVENTS, tuple(events(messages, request, usage)), streamed=True)
    return _whole(messages, request, rendered_prompt, usage, first.padding)


def envelope(status: int, problem: Problem) -> bytes:
    """SGLang's flat error object."""
    return msgspec.json.encode(
        {
            "object": "error",
            "message": problem.message,
            "type": problem.kind,
            "param": problem.param,
            "code": status,
        }
    )


def _ready(reply: Reply, request: ChatRequest) -> Rendered:
    """Bytes that a persona brought along; an error object in a stream comes as an event of its own."""
    if request.stream and reply.status == 200 and reply.content_type == JSON and reply.body.startswith(b"{"):
        return Rendered(200, EVENTS, (b"data: " + reply.body + b"\n\n", b"data: [DONE]\n\n"), streamed=True)
    return Rendered(reply.status, reply.content_type, (reply.body,), reply.headers)


def _whole(
    messages: Sequence[Message], request: ChatRequest, rendered_prompt: str, usage: Object, padding: int
) -> Rendered:
    identity = os.urandom(16).hex()
    mark = f" padding {identity} " if padding else ""
    ids = tokens.encode(rendered_prompt) if request.return_prompt_token_ids else None
    choices = [_choice(index, message, request, ids, mark) for index, message in enumerate(messages)]
    body: Object = {
        "id": identity,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": choices,
        "usage": usage,
    }
    if messages[0].dialect is Dialect.VLLM:
        body |= {
            "id": f"chatcmpl-{identity[:16]}",
            "service_tier": None,
            "prompt_logprobs": None,
            "prompt_token_ids": ids,
        }
    else:
        body["metadata"] = {"weight_version": "default"}
    encoded = msgspec.json.encode(body)
    return Rendered(200, JSON, tuple(_padded(encoded, mark.encode(), padding)) if padding else (encoded,))


def _choice(index: int, message: Message, request: ChatRequest, ids: list[int] | None, mark: str) -> Object:
    shown: Object = {"role": "assistant", "content": message.content + mark if message.content else message.content}
    choice: Object = {"index": index, "message": shown, "logprobs": None, "finish_reason": message.finish}
    own_ids = _ids_of(message) if request.return_token_ids else None
    if message.dialect is Dialect.VLLM:
        shown |= {"refusal": None, "annotations": None, "audio": None, "function_call": None}
        shown["reasoning"] = message.reasoning
        return choice | {"stop_reason": None, "token_ids": own_ids}
    shown["reasoning_content"] = message.reasoning
    if message.tool_calls:
        shown["tool_calls"] = [
            {
                "id": call.id,
                "index": number,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(message.tool_calls)
        ]
    choice["matched_stop"] = tokens.END if message.finish == "stop" else None
    if ids is not None:
        choice["prompt_token_ids"] = ids
    if own_ids is not None:
        choice["response_token_ids"] = own_ids
    return choice


def _ids_of(message: Message) -> list[int]:
    """What the model wrote, with its end token where it reached one; what the server hid from the text is in it."""
    ids = tokens.encode(message.said)
    return [*ids, tokens.END] if message.completion_tokens > len(ids) else ids


def _usage(messages: Sequence[Message], prompt_tokens: int) -> Object:
    completion = sum([message.completion_tokens for message in messages])
    reasoning = sum([message.reasoning_tokens for message in messages])
    usage: Object = {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
    }
    if messages[0].dialect is Dialect.VLLM:
        return usage | {"completion_tokens_details": {"reasoning_tokens": reasoning}}
    return usage | {
        "reasoning_tokens": reasoning,
        "completion_tokens_details": {"reasoning_tokens": reasoning} if reasoning else None,
    }


def _padded(encoded: bytes, mark: bytes, padding: int) -> Iterator[bytes]:
    before, _, after = encoded.partition(mark)
    yield before
    for _ in range(padding // len(_FILLER)):
        yield _FILLER
    yield _FILLER[: padding % len(_FILLER)]
    yield after
