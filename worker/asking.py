"""What is sent for one job. Pure: a prompt and its settings in, a request body out."""

import json
from dataclasses import dataclass
from typing import Any

from app.capture import Form
from app.leasing.claim import Prompt
from app.model.config import DatasetConfig, sampling
from app.model.conversation import as_sent
from app.model.request_hash import request_sha256


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands beyond the OpenAI API, by what it says of itself."""

    name: str  # sglang, vllm or other
    raw_text: bool  # send separate_reasoning=false: the thought stays in content, byte for byte
    token_ids: bool  # ask for the token ids of prompt and answer
    stream: bool = False  # ask for an event stream, in which SGLang sends no token ids


@dataclass(frozen=True, slots=True)
class Question:
    """A request body, and what of it is kept with the answer."""

    body: dict[str, Any]
    settings: str  # JSON of all but messages and tools
    sha256: str  # of the canonical JSON of the whole body
    expected: bool
    profile: str
    raw_text_sent: bool
    form: Form


def question(prompt: Prompt, default_model: str, dialect: Dialect) -> Question:
    """The request for one job: lossless where the server can be asked for it; the row's and a retry's settings last."""
    config = DatasetConfig.from_json(prompt.config)
    settings: dict[str, Any] = {"model": config.model or default_model}
    settings |= sampling(config, {})
    settings |= _lossless(dialect)
    settings |= json.loads(prompt.params) if prompt.params else {}
    if prompt.job_params:
        settings.pop("max_completion_tokens", None)  # the other name of what a retry sets
        settings |= json.loads(prompt.job_params)
    if prompt.seed is not None:
        settings["seed"] = prompt.seed
    if config.thinking is not None:
        settings["chat_template_kwargs"] = {"thinking": config.thinking, **_template_keys(settings)}
    if dialect.stream:
        settings |= {"stream": True, "stream_options": {"include_usage": True}}
    body = {**settings, "messages": as_sent(messages_of(prompt))}
    if prompt.tools is not None:
        body["tools"] = json.loads(prompt.tools)
    return Question(
        body=body,
        settings=json.dumps(settings, sort_keys=True, ensure_ascii=False),
        sha256=request_sha256(body),
        expected=_expected(settings, config),
        profile=config.profile,
        raw_text_sent=settings.get("separate_reasoning") is False,
        form=Form.SSE if dialect.stream else Form.CHAT,
    )


def messages_of(prompt: Prompt) -> list[dict[str, Any]]:
    """The messages of a prompt; of a conversation, its history with the model's own answers."""
    if prompt.conversation is None:
        messages: list[dict[str, Any]] = json.loads(prompt.messages)
        return messages
    history = prompt.conversation.prompt()
    assert history is not None, "a conversation that is over is not asked"
    return history


def _lossless(dialect: Dialect) -> dict[str, bool]:
    """The keys that make a server hand out its text as generated.

    SGLang's own splitting strips white space (0.5.9) or splits at a quoted tag (0.5.23); with separate_reasoning=false
    every version leaves the text alone, and without skip_special_tokens=false tool markup is deleted from it.
    """
    keys: dict[str, bool] = {}
    if dialect.raw_text:
        keys |= {"separate_reasoning": False, "skip_special_tokens": False}
    ask_ids = dialect.token_ids and not dialect.stream
    if ask_ids:
        keys["return_token_ids"] = True
    if ask_ids and dialect.name == "sglang":
        keys["return_prompt_token_ids"] = True
    return keys


def _expected(settings: dict[str, Any], config: DatasetConfig) -> bool:
    """Whether thinking is asked for, or not switched off, by what is really sent."""
    return _template_keys(settings).get("thinking", config.thinking) is not False


def _template_keys(settings: dict[str, Any]) -> dict[str, Any]:
    """What a dataset's --extra or a row says to the chat template; it stands over --thinking."""
    said = settings.get("chat_template_kwargs")
    return said if isinstance(said, dict) else {}
