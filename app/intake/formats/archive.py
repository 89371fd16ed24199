"""Rows of our own archive, preset `full`: all about an answer and its very bytes. What does not fit is refused."""

import base64
import binascii
import json
from dataclasses import replace
from typing import Any

from app.capture import PROFILES, Form
from app.intake.draft import PLACE, Draft
from app.intake.formats.chat import read_messages
from app.intake.refusal import RowRefused
from app.intake.strict_json import Json, kind_of
from app.model.old_answer import OldAnswer

Row = dict[str, Json]
_TEXTS = ("content_type", "request_id", "request_sha256")
_LARGEST = 2**63


def read_full(row: Row) -> Draft:
    """A row of the archive. That of a conversation has its script beside the history of its last turn."""
    params = row.get("params")
    draft = replace(read_messages(row), settings=params if isinstance(params, dict) else None)
    if "script" not in row:
        return draft
    script = read_messages(row | {"messages": row["script"]})
    turns = [replace(turn, text=PLACE.text) if turn.role == PLACE.role else turn for turn in script.turns]
    return replace(draft, turns=turns, script=True)


def full_answer(row: Row, _data: bytes) -> OldAnswer:
    """Everything about the response of a row, and its bytes; of a conversation, of every turn."""
    answer = _archived(row, "")
    if "script" not in row:
        return answer
    turns = row.get("turns")
    if not isinstance(turns, list):
        raise _unknown(f"`turns` is {kind_of(turns)}; expected a list of the answers before the last one")
    return replace(answer, earlier=tuple(_archived(turn, f"turns[{place}].") for place, turn in enumerate(turns)))


def is_full(row: Row) -> bool:
    """Whether the response of a row is one of preset full."""
    response = row["response"]
    return isinstance(response, dict) and "form" in response and ("raw" in response or "raw_base64" in response)


def _archived(row: Json, place: str) -> OldAnswer:
    """One answer. `place` says where it stands in its row."""
    response = row.get("response") if isinstance(row, dict) else None
    if not isinstance(response, dict):
        raise _unknown(f"`{place}response` is {kind_of(response)}; expected an object")
    said = _Response(response, f"{place}response.")
    return OldAnswer(
        said.body(),
        form=said.one_of("form", [str(form) for form in Form]),
        expected=said.claim("expected"),
        profile=said.one_of("profile", list(PROFILES)),
        http_status=said.number("http_status"),
        facts={
            **{name: said.text(name) for name in _TEXTS},
            "requested_ms": said.number("requested_ms"),
            "received_ms": said.time("received_ms"),
            "raw_text_sent": int(said.claim("raw_text_sent")),
            "request": said.request(),
        },
    )


class _Response:
    """The members of a response, each of the kind that it must be; an absent one is null, as in every row."""

    def __init__(self, members: Row, place: str) -> None:
        self._members = members
        self._place = place

    def body(self) -> bytes:
        if "raw_base64" not in self._members:
            return str(self._must("raw", "a text", self.text("raw"))).encode()
        coded = self._must("raw_base64", "a text", self.text("raw_base64"))
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _unknown(f"`{self._place}raw_base64` is not base 64 ({error})") from None

    def text(self, name: str) -> Any:
        value = self._members.get(name)
        if value is not None and not (isinstance(value, str) and _is_whole(value)):
            self._wrong(name, "a text or null")
        return value

    def number(self, name: str) -> Any:
        value = self._members.get(name)
        whole = isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST
        return value if value is None or whole else self._wrong(name, "a whole number or null")

    def time(self, name: str) -> int:
        return int(self._must(name, "milliseconds since 1970", self.number(name)))

    def claim(self, name: str) -> bool:
        value = self._members.get(name)
        return value if isinstance(value, bool) else self._wrong(name, "true or false")

    def one_of(self, name: str, known: list[str]) -> str:
        value = self._members.get(name)
        return value if isinstance(value, str) and value in known else self._wrong(name, f"one of {', '.join(known)}")

    def request(self) -> str | None:
        value = self._members.get("request")
        if value is not None and not isinstance(value, dict):
            self._wrong("request", "an object or null")
        text = None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)
        return text if text is None or _is_whole(text) else self._wrong("request", "whole characters")

    def _must(self, name: str, expected: str, value: Any) -> Any:
        return self._wrong(name, expected) if value is None else value

    def _wrong(self, name: str, expected: str) -> Any:
        value = self._members.get(name)
        found = json.dumps(value)[:60] if isinstance(value, str | int | float | bool) else kind_of(value)
        raise _unknown(f"`{self._place}{name}` is {found}; expected {expected}")


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can hold it: half of a surrogate pair it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown(detail: str) -> RowRefused:
    return RowRefused("unknown_format", detail)
