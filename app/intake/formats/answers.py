"""Rows of runs that other tools finished: the prompt as the tool keeps it, and the very bytes of the answer."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from app.intake.draft import Draft
from app.intake.formats.chat import read_messages
from app.intake.formats.conversations import read_conversations
from app.intake.normal import is_blank
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json
from app.model.old_answer import CHAT, SPECFORGE, OldAnswer

Row = dict[str, Json]
Answer = Callable[[Row, bytes], OldAnswer]
_T = TypeVar("_T")


def whole_row(_row: Row, data: bytes) -> OldAnswer:
    """raw_responses: the line itself is the body."""
    return OldAnswer(data)


def read_curator(row: Row) -> Draft:
    """curator's `responses_N.jsonl`: the prompt under `generic_request`, the id in the row that it was made of."""
    request = row["generic_request"]
    if not isinstance(request, dict) or "messages" not in request:
        raise RowRefused("unknown_format", "generic_request has no messages")
    named = request.get("original_row")
    return replace(read_messages(request), named=named if isinstance(named, dict) else {})


class _Curator(msgspec.Struct):
    raw_response: msgspec.Raw


def curator_answer(row: Row, data: bytes) -> OldAnswer:
    """The server's body, as the library put it into `raw_response`."""
    if not isinstance(row.get("raw_response"), dict):
        raise RowRefused("no_answer", f"response_errors: {json.dumps(row.get('response_errors'))[:200]}")
    return OldAnswer(bytes(_decoded(data, _Curator).raw_response), CHAT)


def read_batch_result(row: Row) -> Draft:
    """A line of a batch's result file. It holds no prompt: that of the dataset's sample of its custom_id is taken."""
    return Draft([], named={"custom_id": row["custom_id"]}, prompt_elsewhere=True)


def is_result(row: Row) -> bool:
    """Whether a row with a custom_id is a result; of one that failed only the error is there."""
    return "messages" not in row and ("response" in row or "error" in row)


class _Response(msgspec.Struct):
    body: msgspec.Raw


class _Batch(msgspec.Struct):
    response: _Response


def batch_answer(row: Row, data: bytes) -> OldAnswer:
    """The server's body under `response`."""
    response = row.get("response")
    if not isinstance(response, dict) or not isinstance(response.get("body"), dict):
        raise RowRefused("no_answer", f"error: {json.dumps(row.get('error'))[:200]}")
    status = response.get("status_code")
    return OldAnswer(
        bytes(_decoded(data, _Batch).response.body),
        CHAT,
        http_status=status if isinstance(status, int) else None,
        facts={"request_id": _text(response.get("request_id"))},
    )


def read_regenerated(row: Row) -> Draft:
    """A row that SpecForge regenerated: its last turn answers those before it, all answers being the model's own."""
    draft = read_conversations(row)
    for number, turn in enumerate(draft.turns[:-1], 1):
        if turn.role == "assistant" and not turn.calls and is_blank(turn.text):
            raise RowRefused("no_answer", f"turn {number} is an empty answer, and the last one was made with it")
    return draft


def regenerated_answer(_row: Row, data: bytes) -> OldAnswer:
    """The line itself; its last turn is the answer."""
    return OldAnswer(data, SPECFORGE)


def is_regenerated(row: Row) -> bool:
    """Whether SpecForge says that all turns were answered; rows that failed, or were skipped, are prompts."""
    turns = row["conversations"]
    last = turns[-1] if isinstance(turns, list) and turns else None
    return row["status"] == "success" and isinstance(last, dict) and last.get("role") == "assistant"


def _decoded(data: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise RowRefused("not_json", str(error)) from None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
