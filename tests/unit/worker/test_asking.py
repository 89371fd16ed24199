"""What is sent for one job."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from app.leasing.claim import Prompt
from app.model.conversation import as_sent
from worker.asking import Dialect, question

PLAIN = Dialect("other", raw_text=False, token_ids=False)
SGLANG = Dialect("sglang", raw_text=True, token_ids=True)
VLLM = Dialect("vllm", raw_text=False, token_ids=True)
USER = [{"role": "user", "content": "how?"}]


def prompt(
    *,
    config: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
    tools: Any = None,
    messages: Any = USER,
) -> Prompt:
    return Prompt(
        sample_id="s",
        replica=0,
        messages=json.dumps(messages),
        tools=None if tools is None else json.dumps(tools),
        params=None if params is None else json.dumps(params),
        config=json.dumps(config or {}),
    )


def test_what_a_retry_says_of_a_job_goes_over_the_row_and_over_the_other_name_of_the_limit() -> None:
    asked = prompt(config={"extra": {"max_completion_tokens": 5}}, params={"max_tokens": 6, "top_p": 0.5})
    body = question(replace(asked, job_params='{"max_tokens": 7}'), "kimi", PLAIN).body
    assert body == {"model": "kimi", "temperature": 1.0, "top_p": 0.5, "max_tokens": 7, "messages": USER}


def test_a_plain_request_holds_what_any_server_understands() -> None:
    body = question(prompt(), "kimi", PLAIN).body
    assert body == {"model": "kimi", "temperature": 1.0, "top_p": 0.95, "messages": USER}


def test_the_row_goes_over_the_dataset_and_the_dataset_over_the_model_card() -> None:
    config = {"temperature": 0.3, "max_tokens": 50, "model": "theirs", "extra": {"top_k": 5, "seed": 1}}
    body = question(prompt(config=config, params={"seed": 2}), "kimi", PLAIN).body
    assert {name: body[name] for name in ("model", "temperature", "top_p", "max_tokens", "top_k", "seed")} == {
        "model": "theirs", "temperature": 0.3, "top_p": 0.95, "max_tokens": 50, "top_k": 5, "seed": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("thinking", "temperature", "sent", "expected"),
    [(None, 1.0, None, True), (True, 1.0, {"thinking": True}, True), (False, 0.6, {"thinking": False}, False)],
)
def test_thinking_decides_the_temperature_and_what_is_expected(
    thinking: bool | None, temperature: float, sent: Any, expected: bool
) -> None:
    asked = question(prompt(config={} if thinking is None else {"thinking": thinking}), "kimi", PLAIN)
    assert asked.body["temperature"] == temperature
    assert asked.body.get("chat_template_kwargs") == sent
    assert asked.expected is expected


def test_a_row_that_switches_thinking_off_expects_none() -> None:
    asked = question(prompt(params={"chat_template_kwargs": {"thinking": False}}), "kimi", PLAIN)
    assert asked.expected is False


def test_a_server_that_can_is_asked_without_loss() -> None:
    keys = {"separate_reasoning", "skip_special_tokens", "return_token_ids", "return_prompt_token_ids"}
    sent = {dialect.name: question(prompt(), "kimi", dialect) for dialect in (PLAIN, VLLM, SGLANG)}
    assert {name: sorted(keys & asked.body.keys()) for name, asked in sent.items()} == {
        "other": [], "vllm": ["return_token_ids"], "sglang": sorted(keys),
    }  # fmt: skip
    assert sent["sglang"].body["separate_reasoning"] is False
    assert sent["sglang"].body["skip_special_tokens"] is False
    assert [asked.raw_text_sent for asked in sent.values()] == [False, False, True]


def test_what_is_kept_of_a_request_is_all_but_messages_and_tools() -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    asked = question(prompt(tools=tools), "kimi", SGLANG)
    assert asked.body["tools"] == tools
    assert json.loads(asked.settings) == {k: v for k, v in asked.body.items() if k not in ("messages", "tools")}


def test_the_hash_is_that_of_the_canonical_request() -> None:
    asked = question(prompt(messages=[{"role": "user", "content": "größer?"}]), "kimi", PLAIN)
    canonical = json.dumps(asked.body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert asked.sha256 == hashlib.sha256(canonical.encode()).hexdigest()
    assert asked.sha256 != question(prompt(params={"seed": 1}), "kimi", PLAIN).sha256


def test_earlier_reasoning_is_sent_only_inside_the_running_tool_loop() -> None:
    history = [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "2", "reasoning_content": "old"},
        {"role": "user", "content": "3"},
        {"role": "assistant", "content": "", "reasoning_content": "of this loop", "tool_calls": []},
        {"role": "tool", "content": "4"},
    ]
    sent = as_sent(history)
    assert [message.get("reasoning_content") for message in sent] == [None, None, None, "of this loop", None]
    assert [message["content"] for message in sent] == [message["content"] for message in history]
    assert history[1]["reasoning_content"] == "old"
    assert as_sent([]) == []
