"""One row to one line, whatever it holds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.capture import Form
from app.export.body import tool_calls_of, usage_of
from app.export.lines import line_of
from app.export.values import Exported
from app.model.errors import IntegrityFailure
from app.model.ids import ResponseId
from tests.unit.export.kit import stored

MESSAGES = '[{"role":"user","content":"q"}]'
ONE = ResponseId(1)


def exported(**changed: Any) -> Exported:
    values: dict[str, Any] = {
        "sample_id": "s1", "messages": MESSAGES, "tools": None, "reasoning": "r", "content": "c",
        "finish_reason": "stop", "usage": {"completion_tokens": 1}, "tool_calls": None, "replica": None,
        "stored": stored(),
    }  # fmt: skip
    return Exported(**values | changed)


def test_the_keys_are_those_of_the_old_pipeline_in_their_order() -> None:
    row = json.loads(line_of(exported()))
    assert list(row) == ["sample_id", "messages", "reasoning", "content", "finish_reason", "usage"]
    assert row["messages"] == [{"role": "user", "content": "q"}]


def test_tool_calls_and_replicas_are_keys_only_where_there_are_some() -> None:
    row = json.loads(line_of(exported(tool_calls=[{"id": "a"}], replica=2)))
    assert list(row)[6:] == ["tool_calls", "replica"]


def test_absent_and_empty_stay_apart() -> None:
    row = json.loads(line_of(exported(reasoning=None, content="")))
    assert (row["reasoning"], row["content"]) == (None, "")


def test_text_is_utf8_and_only_a_lone_surrogate_is_an_escape() -> None:
    line = line_of(exported(content="中🙂\u2028\x00\ud800é"))
    assert "中🙂\u2028\\u0000\\ud800é" in line.decode()
    assert json.loads(line)["content"] == "中🙂\u2028\x00\ud800é"


def test_a_row_with_a_surrogate_has_the_form_of_the_others() -> None:
    plain, odd = line_of(exported(content="x")), line_of(exported(content="\udfff"))
    assert odd.replace(b"\\udfff", b"x") == plain


def test_messages_with_line_ends_between_their_tokens_are_one_line() -> None:
    line = line_of(exported(messages=json.dumps([{"role": "user", "content": "a\nb"}], indent=2)))
    assert line.count(b"\n") == 1
    assert json.loads(line)["messages"][0]["content"] == "a\nb"


def test_integers_beyond_64_bits_stay_exact() -> None:
    assert json.loads(line_of(exported(usage={"n": 2**70})))["usage"] == {"n": 2**70}


@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_any_text_comes_back_from_its_line(reasoning: str, content: str) -> None:
    line = line_of(exported(reasoning=reasoning, content=content))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    row = json.loads(line)
    # A high and a low surrogate side by side are one character to every JSON reader.
    assert row["reasoning"].encode("utf-16", "surrogatepass") == reasoning.encode("utf-16", "surrogatepass")
    assert row["content"].encode("utf-16", "surrogatepass") == content.encode("utf-16", "surrogatepass")


def test_usage_is_the_object_that_the_server_sent() -> None:
    body = b'{"choices": [{"x": "\\ud800"}], "usage": {"prompt_tokens":7, "details": {"a": [1.50, null]}}}'
    assert usage_of(ONE, Form.CHAT, body) == {"prompt_tokens": 7, "details": {"a": [1.5, None]}}


@pytest.mark.parametrize("body", [b'{"choices": []}', b'{"usage": null}'])
def test_no_usage_is_null(body: bytes) -> None:
    assert usage_of(ONE, Form.CHAT, body) is None


@pytest.mark.parametrize("body", [b'\xef\xbb\xbf{"usage": {"a": 1}}', b'{"x": NaN, "usage": {"a": 1}}'])
def test_what_the_parser_reads_the_export_reads(body: bytes) -> None:
    assert usage_of(ONE, Form.CHAT, body) == {"a": 1}


def test_usage_of_a_stream_is_that_of_its_last_chunk_that_has_one() -> None:
    body = b'data: {"choices":[],"usage":null}\n\ndata: {"choices":[],"usage":{"a":2}}\n\ndata: [DONE]\n\n'
    assert usage_of(ONE, Form.SSE, body) == {"a": 2}


def test_a_body_that_is_no_json_is_an_integrity_failure() -> None:
    with pytest.raises(IntegrityFailure):
        usage_of(ONE, Form.CHAT, b"<html>")


def choices(*messages: dict[str, Any]) -> bytes:
    return json.dumps({"choices": [{"index": i, "message": m} for i, m in enumerate(messages)][::-1]}).encode()


def test_tool_calls_are_those_of_the_lowest_index_as_sent() -> None:
    calls = [{"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    assert tool_calls_of(Form.CHAT, choices({"tool_calls": calls}, {"tool_calls": [{"id": "other"}]})) == calls


def test_calls_that_are_only_markup_in_the_text_make_no_key() -> None:
    assert tool_calls_of(Form.CHAT, choices({"content": "<|tool_call_begin|>..."})) is None
    assert tool_calls_of(Form.CHAT, choices({"tool_calls": []})) is None


def test_an_old_function_call_is_one_tool_call() -> None:
    call = {"name": "f", "arguments": "{}"}
    assert tool_calls_of(Form.CHAT, choices({"function_call": call})) == [{"type": "function", "function": call}]


def test_a_row_of_an_old_run_is_its_own_message() -> None:
    body = json.dumps({"content": "c", "tool_calls": [{"id": "a"}], "usage": {"a": 1}}).encode()
    assert tool_calls_of(Form.RAW_RESPONSES, body) == [{"id": "a"}]
    assert usage_of(ONE, Form.RAW_RESPONSES, body) == {"a": 1}
