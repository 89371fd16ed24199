"""What the case file cannot say: bytes, forms, streams, token ids, and which reason comes first."""

import json
from typing import Any

import pytest

from app.capture import Asked, Form, Usage, read_body, read_chunks, streams
from app.model.errors import UsageError
from app.model.verdicts import Verdict

ANSWER = {"index": 0, "message": {"content": "why</think>because"}, "finish_reason": "stop"}
DELTA = {"choices": [{"index": 0, "delta": {"content": "why</think>because"}, "finish_reason": "stop"}]}
STREAM = f"data: {json.dumps(DELTA)}\n\ndata: [DONE]\n\n".encode()
SSE = Asked(form=Form.SSE)


def flags(body: Any, status: int | None = 200, asked: Asked = Asked()) -> set[str]:  # noqa: B008 - frozen
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return set(read_body(status, raw, asked).flags)


def chat(**changes: Any) -> dict[str, Any]:
    return {"choices": [{**ANSWER, **changes}]}


def said(**message: Any) -> dict[str, Any]:
    return chat(message=message)


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        (b"\xff\xfe{}", "not_json"),
        (b"[" * 1_000_000, "not_json"),
        (b'{"choices": ' + b"[" * 250 + b"]" * 250 + b"}", "not_json"),
        (b'{"choices": [{"message": {"content": "a\nb"}}]}', "not_json"),
        (b"{'choices': []}", "not_json"),
        ("null", "no_choices"),
        ({}, "no_choices"),
        ({"choices": {}}, "no_choices"),
        ({"choices": [], "error": "late"}, "error_body"),
        ({"object": "error", "message": "full"}, "error_body"),
        ({"choices": [None]}, "no_message"),
        (chat(message=None), "no_message"),
        (chat(message="text", finish_reason=None), "no_message"),
        (chat(index="0"), "bad_content_type"),
        (chat(index=True), "bad_content_type"),
        (said(content=42, reasoning=42), "bad_content_type"),
        (said(content=True), "bad_content_type"),
        (said(content=[42]), "bad_content_type"),
        (said(content=[{"type": "text", "text": 42}]), "bad_content_type"),
        (said(content=[{"type": "thinking", "thinking": {}}]), "bad_content_type"),
        (said(content="a", reasoning_content={}), "bad_reasoning_type"),
        (said(content="a", thinking=True), "bad_reasoning_type"),
        (said(content="a", reasoning_details="x"), "bad_reasoning_type"),
        (said(content="a", thinking_blocks={}), "bad_reasoning_type"),
        (said(content="a", tool_calls={}), "bad_content_type"),
        (said(content="a", refusal=[]), "bad_content_type"),
        (chat(finish_reason=None), "no_finish_reason"),
        (chat(finish_reason=""), "no_finish_reason"),
        (chat(finish_reason={}), "bad_content_type"),
        (chat(finish_reason="abort"), "aborted"),
        ({"choices": [ANSWER, {**ANSWER, "index": 1, "finish_reason": "error"}]}, "aborted"),
    ],
)
def test_a_body_that_is_no_answer_says_why(body: Any, flag: str) -> None:
    assert flags(body) == {flag}


def test_the_status_comes_first_and_an_imported_row_has_none() -> None:
    assert flags(b"<html>", status=502) == {"http_error"}
    assert flags({"choices": [ANSWER]}, status=201) == {"http_error"}
    assert flags({"choices": [ANSWER]}, status=None) == set()


def test_odd_but_valid_json_is_read() -> None:
    odd = b'\xef\xbb\xbf{"x": NaN, "n": -' + b"9" * 5000 + b', "d": ' + b"[" * 150 + b"]" * 150
    odd += b', "choices": [], "choices": [{"message": {"content": "\xed\xa0\x80\\ud800\\u0000</think>b"},'
    odd += b'"finish_reason": "stop", "index": 0}]}'
    reading = read_body(200, odd, Asked())
    assert (reading.reasoning, reading.content) == ("\ud800\ud800\x00", "b")
    assert flags(b'{"choices": [{"index": ' + b"9" * 5000 + b"}]}") == {"bad_content_type"}


def test_an_unknown_profile_is_an_error_of_the_caller() -> None:
    with pytest.raises(UsageError, match="think, kimi_vl"):
        Asked(profile="thonk")


@pytest.mark.parametrize(
    "stream",
    [
        STREAM,
        STREAM.replace(b"\n", b"\r\n"),
        STREAM.replace(b"\n", b"\r"),
        STREAM.replace(b"data: ", b"data:"),
        STREAM.removesuffix(b"\n\n"),
        STREAM.removesuffix(b"\n\ndata: [DONE]\n\n"),
        b"\xef\xbb\xbf: hello\nevent: x\nid: 1\nretry\n" + STREAM,
        STREAM.replace(b', "finish_reason"', b'\ndata: , "finish_reason"'),
        STREAM + b'data: {"error": "after the end"}\n\n',
        b'data: {"choices": [], "usage": {}}\n\n' + STREAM,
        STREAM.removesuffix(b"data: [DONE]\n\n") + b'data: {"usage": "\xf0\x9f',
        json.dumps({"choices": [ANSWER]}).encode(),
    ],
)
def test_a_stream_is_read_by_the_rules_of_event_streams(stream: bytes) -> None:
    reading = read_body(200, stream, SSE)
    assert (reading.reasoning, reading.content, reading.flags) == ("why", "because", frozenset())


@pytest.mark.parametrize(
    ("stream", "flag"),
    [
        (b"", "not_json"),
        (b"<html>", "not_json"),
        (b"data: \xff\xff\xff\xff\xff\n\n", "not_json"),
        (b"data: [DONE]\n\n", "no_choices"),
        (b'data: {"choices": []}\n\n', "no_choices"),
        (b"data: 42\n\n" + STREAM, "bad_chunk"),
        (b"data: {cut\n\n" + STREAM, "bad_chunk"),
        (b'data: 42\n\ndata: {"error": {"code": 503}}\n\n', "error_chunk"),
        (b"event: error\ndata: no capacity\n\n" + STREAM, "error_chunk"),
        (b'error: {"code": 500}\n\n' + STREAM, "error_chunk"),
        (STREAM.replace(b'"stop"', b"null"), "no_finish_reason"),
        (STREAM[:60], "no_choices"),
        (b'data: {"choices": [42]}\n\n', "bad_content_type"),
        (b'data: {"choices": [{"delta": 42}]}\n\n', "bad_content_type"),
        (b'data: {"choices": [{"delta": {"content": 42}}]}\n\n', "bad_content_type"),
        (b'data: {"choices": [{"delta": {"reasoning": {}}}]}\n\n', "bad_reasoning_type"),
    ],
)
def test_a_stream_that_is_no_answer_says_why(stream: bytes, flag: str) -> None:
    assert flags(stream, asked=SSE) == {flag}


def test_a_line_separator_in_a_chunk_does_not_end_its_line() -> None:
    stream = 'data: {"choices": [{"delta": {"content": "a\u2028\x85</think>b"}, "finish_reason": "stop"}]}\n\n'
    assert read_body(200, stream.encode(), SSE).reasoning == "a\u2028\x85"


def test_several_choices_of_a_stream_are_kept_apart() -> None:
    pieces = [(1, "b"), (0, "a"), (1, "</think>B"), (0, "</think>A")]
    chunks = [{"choices": [{"index": index, "delta": {"content": text}}]} for index, text in pieces]
    chunks += [{"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]} for index in (1, 0)]
    reading = read_chunks(200, chunks, Asked())
    assert [(one.reasoning, one.content) for one in reading.choices] == [("a", "A"), ("b", "B")]
    assert reading.flags == {"multiple_choices"}


def test_lists_of_a_stream_are_extended() -> None:
    deltas: list[dict[str, Any]] = [
        {"content": ""},
        {"content": [{"type": "thinking", "thinking": "wh"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "y"}]}]},
        {"content": [{"type": "text", "text": "be"}]},
        {"content": "cause"},
    ]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]} for delta in deltas]
    reading = read_chunks(200, chunks, Asked())
    assert (reading.reasoning, reading.content, reading.verdict) == ("why", "because", Verdict.CAPTURED_FIELD)


def test_calls_without_an_index_are_told_apart_by_their_id() -> None:
    calls = [{"id": "a", "function": {"name": "f"}}, {"function": {"arguments": "{}"}}, {"id": "b"}]
    chunks: list[dict[str, Any]] = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"delta": {"reasoning": "why"}, "finish_reason": "tool_calls"}]})
    assert read_chunks(200, chunks, Asked()).tool_calls == 2


@pytest.mark.parametrize(
    ("beside", "top", "ids", "prompt_ids"),
    [
        ({"response_token_ids": [1, 2], "prompt_token_ids": [3]}, {}, (1, 2), (3,)),  # SGLang
        ({"token_ids": [1, 2]}, {"prompt_token_ids": [3]}, (1, 2), (3,)),  # vLLM
        ({"token_ids": None, "response_token_ids": []}, {"prompt_token_ids": None}, (), None),
        ({"token_ids": [1, -1], "prompt_token_ids": [True]}, {}, None, None),
        ({"token_ids": [2**32], "prompt_token_ids": "x"}, {"prompt_token_ids": [4]}, None, (4,)),
    ],
)
def test_token_ids_are_read_in_every_place(
    beside: Any, top: Any, ids: tuple[int, ...] | None, prompt_ids: tuple[int, ...] | None
) -> None:
    reading = read_body(200, json.dumps({**chat(**beside), **top}).encode(), Asked())
    assert (reading.token_ids, reading.prompt_token_ids) == (ids, prompt_ids)


def test_token_ids_of_a_stream_are_joined() -> None:
    chunks = [{"choices": [{"delta": {"content": "a"}, "token_ids": [n], "finish_reason": "stop"}]} for n in (1, 2)]
    reading = read_chunks(200, [{"choices": [], "prompt_token_ids": [9]}, *chunks], Asked())
    assert (reading.token_ids, reading.prompt_token_ids) == ((1, 2), (9,))


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2, "reasoning_tokens": 3}, Usage(1, 2, 3)),
        ({"reasoning_tokens": 0, "completion_tokens_details": {"reasoning_tokens": 4}}, Usage(None, None, 4)),
        ({"prompt_tokens": True, "completion_tokens": 1.0, "reasoning_tokens": "1"}, Usage(None, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": 2**63}, Usage(None, None, None)),
        (None, None),
        ("many", None),
    ],
)
def test_only_integers_are_counts(usage: Any, read: Usage | None) -> None:
    assert read_body(200, json.dumps({**chat(), "usage": usage}).encode(), Asked()).usage == read


def test_what_the_body_says_of_the_model_is_kept() -> None:
    body = {**chat(), "model": "kimi", "metadata": {"weight_version": "step-7"}}
    reading = read_body(200, json.dumps(body).encode(), Asked())
    assert (reading.model, reading.weight_version, reading.finish_reason) == ("kimi", "step-7", "stop")
    inner = read_body(200, json.dumps(chat(meta_info={"weight_version": "w"})).encode(), Asked())
    assert (inner.model, inner.weight_version) == (None, "w")


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"reasoning": "why", "content": "because"}, ("why", "because", Verdict.CAPTURED_FIELD)),
        ({"reasoning": "", "content": "why</think>because"}, ("why", "because", Verdict.SPLIT_FROM_CONTENT)),
        ({"reasoning": None, "content": "because"}, (None, "because", Verdict.MISSING)),
    ],
)
def test_a_row_of_an_old_run_is_read_like_a_chat_body(row: dict[str, Any], columns: tuple[Any, ...]) -> None:
    old = {"sample_id": "1", "messages": [], "finish_reason": "stop", "usage": None, "thinking": True, **row}
    reading = read_body(None, json.dumps(old).encode(), Asked(form=Form.RAW_RESPONSES))
    assert (reading.reasoning, reading.content, reading.verdict) == columns


def test_a_row_of_an_old_run_without_finish_reason_is_no_answer() -> None:
    asked = Asked(form=Form.RAW_RESPONSES)
    assert flags({"content": "a", "reasoning": "b"}, None, asked) == {"no_finish_reason"}
    assert flags([1], None, asked) == {"no_choices"}


def test_a_call_of_a_stream_keeps_the_first_id_that_was_sent() -> None:
    calls: list[Any] = [
        {"index": 0, "id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": None, "function": {"name": "g"}},
        {"index": 0, "function": {"arguments": '{"a"'}},
        {"index": 1, "id": "functions.g:1", "function": {"arguments": "{}"}},
        {"index": 0, "id": "", "function": {"arguments": ": 1}"}},
        {"index": 2, "function": {"name": "h", "arguments": "{}"}},
    ]
    body: Any = streams.join([{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls])
    assert body["choices"][0]["message"]["tool_calls"] == [
        {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "functions.g:1", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        {"type": "function", "function": {"name": "h", "arguments": "{}"}},
    ]


def test_more_lists_and_objects_than_an_answer_has_room_for_are_no_answer() -> None:
    answer = json.dumps(ANSWER)
    wide = '{"choices": [' + answer + '], "x": [' + "{}, " * 40_000 + "{}]}"
    assert flags(wide.encode()) == {"not_json"}
    assert flags(json.dumps(said(content="[{" * 40_000 + '"\\', reasoning="why")).encode()) == set()
    few = '{"choices": [' + answer + '], "x": [' + "{}, " * 9_000 + "{}]}"
    assert flags(few.encode()) == set()


def test_the_densest_of_real_answers_have_room() -> None:
    """Log probabilities, each with its bytes and the alternatives."""
    one = {
        "token": "a",
        "logprob": -1.5,
        "bytes": [97],
        "top_logprobs": [{"token": "a", "logprob": -1.5, "bytes": [97]}],
    }
    body = json.dumps(chat(logprobs={"content": [one] * 20_000}), separators=(",", ":")).encode()
    assert flags(body) == set()


def test_more_choices_or_calls_than_anybody_asks_for_are_junk() -> None:
    most = [{**ANSWER, "index": index} for index in range(2048)]
    assert flags({"choices": most}) == {"multiple_choices"}
    assert flags({"choices": [*most, ANSWER]}) == {"bad_content_type"}
    delta = {"choices": [{"index": 0, "delta": {}} for _ in range(5000)]}
    assert read_chunks(200, [delta, DELTA], Asked()).flags == frozenset()
    apart = {"choices": [{"index": index, "delta": {}} for index in range(2049)]}
    assert read_chunks(200, [apart], Asked()).flags == {"bad_content_type"}
    calls = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index} for index in range(2049)]}}]}
    assert read_chunks(200, [calls], Asked()).flags == {"bad_content_type"}


@pytest.mark.parametrize(
    ("events", "flag"),
    [
        (['{"choices": [{}', "{}]}"], "bad_chunk"),  # two halves of one object
        (['{"choices": [{"delta": "x', '"}]}'], "bad_chunk"),
        (["{}", "{}\n\ndata: {}", "[1]"], "bad_chunk"),
        (["{}", '{"error": 1}', "{"], "error_chunk"),
        (["{}", '{"\\u0065rror": 1}', "{"], "error_chunk"),
        (['{"x": ' + "[" * 201 + "]" * 201 + "}"], "bad_chunk"),
        (['{"x": "' + "[{" * 99 + '"}'], "no_choices"),
    ],
)
def test_events_are_read_each_for_itself(events: list[str], flag: str) -> None:
    stream = "".join(f"data: {event}\n\n" for event in events)
    assert flags(stream.encode(), asked=SSE) == {flag}
    assert flags(f"event: x\n{stream}".encode(), asked=SSE) == {flag}
