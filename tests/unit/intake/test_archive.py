"""Rows of preset full that somebody changed: each is refused with what was found and expected, none is guessed at."""

import json
from typing import Any

import pytest

from app.export.lines import line_of
from app.export.presets import Preset
from app.export.values import Exported
from app.intake.rows import Reading, Reject, Row, read_row
from tests.unit.export.kit import BODY, stored

Line = dict[str, Any]


def archived() -> Line:
    row = Exported(
        sample_id="s", messages='[{"role":"user","content":"q"}]', tools=None, reasoning="r", content="c",
        finish_reason="stop", usage=None, tool_calls=None, replica=None,
        stored=stored(loss_flags='["cut_upstream"]'),
    )  # fmt: skip
    line: Line = json.loads(line_of(row, Preset.FULL))
    return line


def read(line: Line) -> Row | Reject:
    return read_row(7, json.dumps(line).encode(), Reading())


def test_a_row_as_it_was_written_is_read() -> None:
    row = read(archived())
    assert isinstance(row, Row)
    assert row.result is not None
    assert (row.format, row.result.body, row.result.form) == ("full", BODY, "chat")


def test_what_hints_at_a_loss_stands_in_the_row() -> None:
    assert archived()["loss_flags"] == ["cut_upstream"]


WRONG = {
    "form": ("carrier pigeon", '`response.form` is "carrier pigeon"; expected one of chat, sse, specforge, raw_'),
    "profile": ("unheard of", '`response.profile` is "unheard of"; expected one of think, kimi_vl'),
    "expected": (1, "`response.expected` is 1; expected true or false"),
    "raw_text_sent": ("yes", '`response.raw_text_sent` is "yes"; expected true or false'),
    "http_status": ("200", '`response.http_status` is "200"; expected a whole number or null'),
    "requested_ms": (2**63, "`response.requested_ms` is 9223372036854775808; expected a whole number or null"),
    "received_ms": (None, "`response.received_ms` is null; expected milliseconds since 1970"),
    "content_type": (["x"], "`response.content_type` is a list; expected a text or null"),
    "request_id": ("\ud800", '`response.request_id` is "\\ud800"; expected a text or null'),
    "request": ("model", '`response.request` is "model"; expected an object or null'),
    "raw": (None, "`response.raw` is null; expected a text"),
    "raw_base64": ("***", "`response.raw_base64` is not base 64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_member_of_another_kind_is_refused_by_name(name: str) -> None:
    value, words = WRONG[name]
    line = archived()
    line["response"][name] = value
    reject = read(line)
    assert isinstance(reject, Reject)
    assert (reject.line, reject.reason) == (7, "unknown_format")
    assert words in reject.detail


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ("x", "`turns` is a text; expected a list of the answers before the last one"),
        ([5], "`turns[0].response` is null; expected an object"),
        ([{"response": {"form": "x", "raw": ""}}], '`turns[0].response.form` is "x"'),
    ],
)
def test_a_turn_of_a_conversation_is_looked_at_as_closely(turns: Any, words: str) -> None:
    place = {"role": "assistant"}
    script = [{"role": "user", "content": "q"}, place, {"role": "user", "content": "r"}, place]
    reject = read(archived() | {"script": script, "turns": turns})
    assert isinstance(reject, Reject)
    assert (reject.reason, words in reject.detail) == ("unknown_format", True)
