"""Rows that trainers take as they are: the server's own token ids, and the text around an answer."""

import json
from typing import Any

from app.capture.profiles import HARMONY, Profile, profile_named
from app.export.template import Refusal, Template, render
from app.export.values import Exported, Unfit
from app.model.conversation import as_sent
from app.model.errors import UsageError

Line = dict[str, Any]


def tokens_line(row: Exported) -> Line:
    """The ids of prompt and answer as the server counted them, and which of them the model wrote.

    `text` is for a person's eye: nothing was tokenized here, and nothing is to be.
    """
    prompt, answer = _ids(row)
    return {
        "id": row.name,
        "primary_id": row.sample_id,
        "input_ids": [*prompt, *answer],
        "loss_mask": [0] * len(prompt) + [1] * len(answer),
        "text": _in_tags(row),
        "metadata": {
            "finish_reason": row.finish_reason,
            "verdict": row.stored.verdict,
            "is_tool_call": row.tool_calls is not None,
            "prompt_tokens": len(prompt),
            "completion_tokens": len(answer),
            "request": row.stored.facts.request,  # JSON as text: readers guess one type a column from all rows
        },
    }


def _in_tags(row: Exported) -> str:
    content = "" if row.content is None else row.content
    return content if row.reasoning is None else f"<think>{row.reasoning}</think>{content}"


def _ids(row: Exported) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both lists, complete by the server's own count; else Unfit."""
    prompt, answer = row.tokens
    if not prompt and not answer:
        raise Unfit("no_token_ids")
    if not prompt:
        raise Unfit("no_prompt_token_ids")
    if not answer:
        raise Unfit("no_answer_token_ids")
    if _differs(row.usage, "prompt_tokens", prompt) or _differs(row.usage, "completion_tokens", answer):
        raise Unfit("token_ids_incomplete")
    return prompt, answer


def _differs(usage: Any, key: str, ids: tuple[int, ...]) -> bool:
    counted = usage.get(key) if isinstance(usage, dict) else None
    return isinstance(counted, int) and counted != len(ids)


def text_line(row: Exported) -> Line:
    """The text that was before the model and what it wrote."""
    assert row.template is not None
    if row.tool_calls is not None:
        raise Unfit("tool_calls_in_a_field")  # the server took their markup out of the text
    if row.stored.facts.profile == HARMONY:
        raise Unfit("profile:harmony")  # channels, not tags
    prompt = _prompt(row, row.template)
    text = prompt + _answer(row, prompt, profile_named(row.stored.facts.profile))
    return {"id": row.name, "text": text + _end(row, text, row.template)}


def _prompt(row: Exported, template: Template) -> str:
    """The messages as they were sent, rendered with what the request said to the template."""
    messages = [_with_objects(message) for message in as_sent(json.loads(row.messages))]
    tools = None if row.tools is None else json.loads(row.tools)
    request = {} if row.stored.facts.request is None else json.loads(row.stored.facts.request)
    asked = request.get("chat_template_kwargs") or {}
    at_ms = row.stored.facts.received_ms if row.stored.facts.requested_ms is None else row.stored.facts.requested_ms
    try:
        return render(template, messages, tools, asked, at_ms)
    except Refusal as error:
        raise Unfit("template_refused") from error
    except UsageError as error:
        raise UsageError(f"Sample {row.name!r} cannot be rendered: {error}") from error


def _with_objects(message: Line) -> Line:
    """Calls with their arguments as an object, as servers hand them to a template."""
    calls = message.get("tool_calls")
    return message if calls is None else {**message, "tool_calls": [_call(call) for call in calls]}


def _call(call: Line) -> Line:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": arguments}} if isinstance(arguments, dict) else call


def _answer(row: Exported, prompt: str, tags: Profile) -> str:
    """What the model wrote after the prompt. The prompt and the answer must agree on who opened the thought."""
    content = "" if row.content is None else row.content
    begins = prompt.rstrip()
    if begins.endswith(tags.open):
        if row.reasoning is None:
            raise Unfit("prompt_opens_thinking")
        return row.reasoning + _close(row, tags) + content
    if row.reasoning is None or (begins.endswith(tags.close) and row.reasoning == ""):
        return content
    if begins.endswith(tags.close):
        raise Unfit("prompt_closes_thinking")
    return _open(row, tags) + row.reasoning + _close(row, tags) + content


def _open(row: Exported, tags: Profile) -> str:
    """As the model wrote it, or, where the server's prompt or its parser had it, as its family writes it."""
    return row.parts[0] + row.parts[1] if row.parts is not None and row.parts[1] else tags.open


def _close(row: Exported, tags: Profile) -> str:
    return tags.close if row.parts is None else row.parts[2]


def _end(row: Exported, text: str, template: Template) -> str:
    """The end token, but where the limit ended the answer: the model did not say that it was done."""
    if row.finish_reason == "length" or text.endswith(template.end_token):
        return ""
    return template.end_token
