"""Any bytes give a value or a reason, never an error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.intake.refusal import EXPECTED, RowRefused
from app.intake.rows import Reading, Reject, read_row
from app.intake.strict_json import MAX_BYTES, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=20,
)
# Objects that come near to real rows, so that the deeper checks are reached.
TURN = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "robot"])},
    optional={
        "content": st.none()
        | st.text(max_size=8)
        | st.lists(st.dictionaries(st.sampled_from(["type", "text", "value"]), JSON)),
        "tool_calls": JSON
        | st.lists(st.fixed_dictionaries({"name": st.text(max_size=3), "arguments": JSON}), max_size=3),
        "tool_call_id": JSON,
        "reasoning_content": JSON,
    },
)
ROWS = st.fixed_dictionaries(
    {"messages": st.lists(TURN, max_size=5) | JSON},
    optional={"tools": JSON, "system": JSON, "id": JSON, "images": JSON},
)


def _reason(data: bytes) -> str:
    with pytest.raises(RowRefused) as refused:
        read_json(data)
    assert refused.value.reason.partition(":")[0] in EXPECTED
    return refused.value.reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not_json"),
        (b'{"prompt": "torn', "not_json"),
        (b'{"a": 1} {"b": 2}', "not_json"),
        (b'{"a": "raw\ttab"}', "not_json"),
        (b'{"a": NaN}', "not_finite"),
        (b'{"a": -Infinity}', "not_finite"),
        (b'{"a": 1e999}', "not_finite"),
        (b'{"a": 1, "b": 2, "a": 1}', "duplicate_key:a"),
        (b'{"x": [{"k": 1, "k": 2}]}', "duplicate_key:k"),
        (b'{"a": "\xff"}', "not_utf8"),
        (b'{"a": "\xed\xa0\x80"}', "not_utf8"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too_deep"),
        (b"[" * 1_000_000, "too_deep"),
        (b'{"a":' * 200_000, "too_deep"),
        (b"9" * 5_000, "number_too_long"),
        (b'"' + b"x" * MAX_BYTES + b'"', "too_large"),
    ],
    ids=lambda value: repr(value[:24]),
)
def test_what_is_unsafe_is_refused_by_name(data: bytes, reason: str) -> None:
    assert _reason(data) == reason


def test_64_levels_and_4_mib_are_taken() -> None:
    assert read_json(b"[" * 64 + b"]" * 64) is not None
    assert read_json(b'"' + b"x" * (MAX_BYTES - 2) + b'"')
    assert read_json(b'"' + b"{[" * 500 + b'"') == "{[" * 500


def test_large_whole_numbers_stay_exact() -> None:
    assert read_json(b"[18446744073709551617]") == [2**64 + 1]


@given(st.binary())
def test_any_bytes_give_a_row_or_a_reason(data: bytes) -> None:
    read_row(1, data, Reading())


@given(JSON | ROWS)
def test_any_json_gives_a_row_or_a_known_reason(value: object) -> None:
    row = read_row(1, json.dumps(value).encode(), Reading())
    if isinstance(row, Reject):
        assert row.reason.partition(":")[0] in EXPECTED
        assert len(row.text) <= 200


@given(JSON)
def test_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    assert read_json(json.dumps(value).encode()) == value
