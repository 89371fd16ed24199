"""What a client asked: the parts of a chat request that are honoured. All others are ignored without a word."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from worker.simulator.answers import digest_of


class Part(msgspec.Struct):
    """One part of a message whose content is a list."""

    type: str
    text: str = ""


class Function(msgspec.Struct):
    """The name of a tool's function."""

    name: str


class Tool(msgspec.Struct):
    """One tool that the model may call."""

    function: Function
    type: str = "function"


class Turn(msgspec.Struct):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    reasoning_content: str | None = None

    @property
    def text(self) -> str:
        """The content as one text; only text parts count."""
        if isinstance(self.content, list):
            return "".join([part.text for part in self.content if part.type == "text"])
        return self.content or ""


class StreamOptions(msgspec.Struct):
    """What a stream shall carry beside the text."""

    include_usage: bool = False


class ChatRequest(msgspec.Struct):
    """The body of POST /v1/chat/completions."""

    messages: list[Turn]
    model: str = "default"
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    chat_template_kwargs: dict[str, object] | None = None
    separate_reasoning: bool = True
    include_reasoning: bool = True
    skip_special_tokens: bool = True
    return_token_ids: bool = False
    return_prompt_token_ids: bool = False
    tools: list[Tool] | None = None
    tool_choice: object = None
    n: int = 1
    seed: int | None = None

    @property
    def prompt(self) -> str:
        """The last user message: what the answer answers."""
        for turn in reversed(self.messages):
            if turn.role == "user":
                return turn.text
        return ""

    @property
    def thinking(self) -> bool:
        """Whether the prompt ends inside a thought; only the key `thinking` with false switches it off."""
        return self.chat_template_kwargs is None or self.chat_template_kwargs.get("thinking") is not False

    @property
    def limit(self) -> int | None:
        """The most tokens that one choice may have."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def tool(self) -> str | None:
        """The name of the first tool, where the model may call one."""
        return self.tools[0].function.name if self.tools and self.tool_choice != "none" else None

    def rendered(self) -> str:
        """The text that the chat template makes of the messages, in Kimi-K2.5's manner."""
        parts = [
            f"<|im_{_SPEAKER[turn.role]}|>{turn.role}<|im_middle|>{turn.text}<|im_end|>\n" for turn in self.messages
        ]
        return "".join(parts) + "<|im_assistant|>assistant<|im_middle|><think>" + ("" if self.thinking else "</think>")


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a persona may know about the request it answers."""

    prompt: str
    digest: bytes
    model: str = "kimi-k2.5"
    thinking: bool = True
    separate: bool = True  # separate_reasoning: a configured parser may split
    include: bool = True  # include_reasoning, where a server knows it
    specials: bool = False  # special tokens stay in the text
    limit: int | None = None
    tool: str | None = None
    seed: int | None = None
    choice: int = 0
    answer_bytes: int = 4096
    ordinal: int = 1  # how many requests this persona was given since the last play, this one included
    credential: str = ""  # what the client sent as its key


_SPEAKER = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "system",
    "function": "system",
}  # fmt: skip
_DECODER = msgspec.json.Decoder(ChatRequest)


def read_request(body: bytes) -> ChatRequest:
    """The request in a body; ValueError in words that a server would use when it is none."""
    try:
        request = _DECODER.decode(body)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"1 validation error: {error}") from error
    if not request.messages:
        raise ValueError("Messages cannot be empty.")
    if request.limit is not None and request.limit < 0:
        raise ValueError(f"max_new_tokens must be at least 0, got {request.limit}.")
    if request.n < 1:
        raise ValueError(f"n must be at least 1, got {request.n}.")
    return request


def check_length(prompt_tokens: int, limit: int | None, context_length: int) -> None:
    """ValueError when prompt and answer cannot both fit into the context."""
    if prompt_tokens >= context_length:
        raise ValueError(
            f"The input ({prompt_tokens} tokens) is longer than the model's context length ({context_length} tokens)."
        )
    if limit is not None and prompt_tokens + limit > context_length:
        raise ValueError(
            f"Requested token count exceeds the model's maximum context length of {context_length} tokens. You "
            f"requested a total of {prompt_tokens + limit} tokens: {prompt_tokens} tokens from the input messages and "
            f"{limit} tokens for the completion. Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit."
        )


def facts_of(request: ChatRequest, prompt: str, answer_bytes: int, credential: str, ordinal: int) -> Facts:
    """What a persona may know of a request."""
    return Facts(
        prompt=prompt,
        digest=digest_of(prompt),
        model=request.model,
        thinking=request.thinking,
        separate=request.separate_reasoning,
        include=request.include_reasoning,
        specials=not request.skip_special_tokens or request.tool is not None,
        limit=request.limit,
        tool=request.tool,
        seed=request.seed,
        answer_bytes=answer_bytes,
        ordinal=ordinal,
        credential=credential,
    )
