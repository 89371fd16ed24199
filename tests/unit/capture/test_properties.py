"""What holds for every body, real or not."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.capture import PROFILES, Asked, Form, Reading, read_body, read_chunks
from app.model.verdicts import Verdict
from tests.unit.capture.case_file import CASES, Row, read_case

Json = Any

PIECES = (
    *(tag for profile in PROFILES.values() for tag in (profile.open, profile.close)),
    *("<think>", "</think>", "</think>", "`", "``", "```", "~~~", "````", "\n", "\n", "\r\n", "\r", " ", "   ", "\t"),
    *('"', "'", "“", "”", "‘", "’", "«", "»", "「", "」", "『", "』", "{", "}", "{}", '{"a": 1}', "\\"),
    *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "f:0", "<|tool_call_argument_begin|>"),
    *("<|tool_call_end|>", "<|tool_calls_section_end|>"),
    *("<|start|>assistant", "<|channel|>final<|message|>", "<|return|>", "analysis", "assistantfinal"),
    *("a", "why", "x</thi", "é", "👩🏽‍💻", "\x00", "\u2028", "\x85", "\ud800", "\udc00", "\ufeff"),
)
pieces = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
texts = pieces | st.text(st.characters(), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    *("id", "error", "object", "choices", "index", "message", "delta", "finish_reason", "usage", "content", "type"),
    *("text", "thinking", "summary", "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"),
    *("tool_calls", "function_call", "function", "arguments", "refusal", "model", "metadata", "weight_version"),
    *("token_ids", "response_token_ids", "prompt_token_ids", "meta_info", "reasoning_tokens"),
    "completion_tokens_details",
)
# Objects that look like the real ones as long as one looks at the keys only.
alike = st.recursive(
    scalars | st.sampled_from(("stop", "length", "abort", "text", "thinking", "error")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
finishes = st.sampled_from(("stop", "length", "tool_calls"))
asks = st.builds(
    Asked,
    thinking=st.sampled_from((None, True, False)),
    profile=st.sampled_from(tuple(PROFILES)),
    prompt=st.sampled_from(("", "hello", "what is </think>?")),
    form=st.sampled_from(tuple(Form)),
)
tagged_asks = asks.map(lambda asked: Asked(asked.thinking, asked.profile, asked.prompt))


def body_of(content: Json, finish: str = "stop", **message: Json) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice]}).encode()


def check_sound(reading: Reading) -> None:
    """What every reading promises, whatever it is of."""
    assert isinstance(reading, Reading)
    if reading.verdict is Verdict.MALFORMED:
        assert len(reading.flags) == 1
        assert not reading.choices
        assert (reading.reasoning, reading.content, reading.tool_calls, reading.parts) == (None, None, None, None)
    else:
        lowest = reading.choices[0]
        assert [one.index for one in reading.choices] == sorted(one.index for one in reading.choices)
        assert (reading.reasoning, reading.content, reading.verdict) == (
            lowest.reasoning,
            lowest.content,
            lowest.verdict,
        )
    for choice in reading.choices:
        assert choice.tool_calls != 0
        if choice.verdict in (Verdict.CAPTURED_FIELD, Verdict.SPLIT_FROM_CONTENT):
            assert choice.reasoning is not None
            assert choice.reasoning.strip()


@given(st.binary(max_size=200), st.none() | st.integers(), asks)
def test_any_bytes_give_a_reading(body: bytes, status: int | None, asked: Asked) -> None:
    check_sound(read_body(status, body, asked))


@given(anything | alike, asks)
def test_any_json_gives_a_reading(value: Json, asked: Asked) -> None:
    check_sound(read_body(200, json.dumps(value).encode(), asked))


@given(st.lists(st.fixed_dictionaries({"message": alike, "finish_reason": finishes}), min_size=1, max_size=2), asks)
def test_any_message_gives_a_reading(choices: Json, asked: Asked) -> None:
    check_sound(read_body(200, json.dumps({"choices": choices}).encode(), asked))


@given(st.lists(alike | st.fixed_dictionaries({"choices": st.lists(alike, max_size=2)}), max_size=5), asks)
def test_any_chunks_give_a_reading(chunks: list[Json], asked: Asked) -> None:
    check_sound(read_chunks(200, chunks, asked))


@given(st.lists(st.sampled_from((b"data: ", b"data:", b"\n", b"\r\n", b"\r", b": x", b"{}", b"[DONE]", b"\xff", b"e"))))
def test_any_event_stream_gives_a_reading(lines: list[bytes]) -> None:
    check_sound(read_body(200, b"".join(lines), Asked(form=Form.SSE)))


@given(st.data(), st.sampled_from(CASES), asks)
def test_a_case_with_one_place_changed_gives_a_reading(data: st.DataObject, case: Row, asked: Asked) -> None:
    body = json.loads(json.dumps(case.get("body", case.get("chunks"))))
    spots = places(body)
    if not spots:
        return
    owner, key = data.draw(st.sampled_from(spots))
    owner[key] = data.draw(scalars | alike)
    check_sound(read_body(200, json.dumps(body).encode(), asked))
    if isinstance(body, list):
        check_sound(read_chunks(200, body, asked))


@given(st.data(), st.sampled_from([case for case in CASES if "body" in case]))
def test_a_case_with_bytes_changed_gives_a_reading(data: st.DataObject, case: Row) -> None:
    body = bytearray(json.dumps(case["body"], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    at = data.draw(st.integers(0, len(body)))
    body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check_sound(read_body(200, bytes(body), Asked()))


@given(st.sampled_from(CASES))
def test_reading_twice_gives_the_same(case: Row) -> None:
    assert read_case(case) == read_case(case)


@given(texts, finishes, tagged_asks)
def test_no_character_of_content_is_lost_or_moved(text: str, finish: str, asked: Asked) -> None:
    reading = read_body(200, body_of(text, finish), asked)
    check_sound(reading)
    text = json.loads(json.dumps(text))  # an escaped pair of surrogates is one character
    tags = PROFILES[asked.profile]
    if reading.parts is not None:
        lead, opening, reasoning, close, content = reading.parts
        assert "".join(reading.parts) == text
        assert not lead.strip()
        assert opening in ("", tags.open)
        assert close in ("", tags.close)
        assert reading.reasoning == reasoning
        assert (reading.content or "") == content
    elif asked.profile != "harmony":
        assert reading.content == text


@given(texts, texts, finishes, tagged_asks)
def test_a_field_and_its_content_stay_as_sent(field: str, text: str, finish: str, asked: Asked) -> None:
    reading = read_body(200, body_of(text, finish, reasoning_content=field), asked)
    check_sound(reading)
    if reading.verdict is Verdict.CAPTURED_FIELD and "dup_in_content" not in reading.flags:
        assert reading.content == json.loads(json.dumps(text))
        assert str(reading.reasoning) in json.loads(json.dumps(field))


@given(texts, finishes, tagged_asks)
def test_the_thought_is_the_same_whether_prompt_or_model_opens_it(text: str, finish: str, asked: Asked) -> None:
    tags = PROFILES[asked.profile]
    asked = Asked(True, asked.profile if tags.prompt_opens else "think", asked.prompt)
    tags = PROFILES[asked.profile]
    if text.lstrip().startswith(tags.open):
        return
    bare = read_body(200, body_of(text, finish), asked)
    opened = read_body(200, body_of(tags.open + text, finish), asked)
    if bare.parts is not None and (bare.parts[3] or bare.parts[4]):
        assert opened.parts == ("", tags.open, *bare.parts[2:])
        assert (opened.reasoning, opened.content, opened.verdict) == (bare.reasoning, bare.content, bare.verdict)


@given(st.data(), pieces, pieces, finishes, tagged_asks, st.sampled_from(("\n", "\r\n", "\r")))
def test_the_chunking_of_a_stream_does_not_matter(
    data: st.DataObject, field: str, text: str, finish: str, asked: Asked, line_end: str
) -> None:
    field, text = json.loads(json.dumps(field)), json.loads(json.dumps(text))
    whole = read_body(200, body_of(text, finish, reasoning=field), asked)
    deltas = [{"reasoning": piece} for piece in data.draw(cuts(field))]
    deltas += [{"content": piece} for piece in data.draw(cuts(text))]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    assert read_chunks(200, chunks, asked) == whole
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}" for chunk in chunks]
    stream = "".join(event + line_end * 2 for event in [*events, "data: [DONE]"])
    streamed = Asked(asked.thinking, asked.profile, asked.prompt, Form.SSE)
    assert read_body(200, stream.encode("utf-8", "surrogatepass"), streamed) == whole


def cuts(text: str) -> st.SearchStrategy[list[str]]:
    """The text in pieces, some of them empty. No cut goes through a pair of surrogates."""
    points = st.lists(st.integers(0, len(text)), max_size=5).map(sorted)
    return points.map(lambda at: [text[i:j] for i, j in zip([0, *at], [*at, len(text)], strict=True)])


def places(value: Json) -> list[tuple[Json, Json]]:
    """Every place of a JSON value that can be assigned to."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *places(value[key])]]
