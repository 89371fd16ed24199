"""Lines as a table: read back they are the lines again, or the line is refused with its reason."""

import io
import json
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.export import parquet
from app.export.columns import Column, column_of, why_not
from app.export.parquet import TableSink, schema_of
from app.export.presets import SHAPES, Preset

CALL = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGE = {"role": "assistant", "content": "c", "reasoning_content": "r", "tool_calls": [CALL]}
AS_JSON = {
    "tools",
    "usage",
    "tool_calls",
    "params",
    "flags",
    "loss_flags",
    "response",
    "error",
    "metadata",
    "script",
    "turns",
}


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def table(preset: Preset, *lines: bytes) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    with closing(TableSink(stream, preset)) as sink:
        sink.write(lines)
        assert sink.finish().bytes == len(stream.getvalue())
    rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(stream.getvalue())).to_pylist()
    return rows


def filled(value: Any) -> Any:
    """Without its null keys, as a reader of a table must take it."""
    if isinstance(value, dict):
        return {key: filled(one) for key, one in value.items() if one is not None}
    return [filled(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("preset", Preset)
def test_every_key_of_a_preset_has_a_column_of_its_kind(preset: Preset) -> None:
    shape = SHAPES[preset]
    keys = {*shape.fields, *shape.optional}
    assert {key for key in keys if column_of(preset, key) is Column.JSON} <= AS_JSON
    assert set(schema_of(preset).names) == keys


def test_messages_are_structures_and_come_back_with_nulls_for_what_they_lack() -> None:
    (row,) = table(Preset.MESSAGES, line(id="1", messages=[{"role": "user", "content": "q"}], completion=[MESSAGE],
                                         tools=[{"type": "function"}]))  # fmt: skip
    assert filled(row["messages"]) == [{"role": "user", "content": "q"}]
    assert filled(row["completion"]) == [MESSAGE]
    assert json.loads(row["tools"]) == [{"type": "function"}]


def test_what_has_no_fixed_form_is_json_that_loses_nothing() -> None:
    usage = {"n": 2**70, "x": 1.5, "odd": "\ud800", "deep": [{"a": None}]}
    (row,) = table(Preset.RUN_INFERENCE, line(sample_id="s", messages=[], reasoning="", content=None,
                                              finish_reason="stop", usage=usage))  # fmt: skip
    assert json.loads(row["usage"]) == usage
    assert (row["reasoning"], row["content"], row["tool_calls"]) == ("", None, None)


@given(st.lists(st.tuples(st.text(), st.none() | st.text(st.characters(exclude_categories=["Cs"])))))
def test_any_text_comes_back_or_is_refused(texts: list[tuple[str, str | None]]) -> None:
    lines = [line(id=str(number), conversations=[{"role": role, "content": text}])
             for number, (role, text) in enumerate(texts)]  # fmt: skip
    rows = table(Preset.INLINE_THINK, *lines)
    assert [(row["conversations"][0]["role"], row["conversations"][0]["content"]) for row in rows] == texts
    assert [row["id"] for row in rows] == [str(number) for number in range(len(texts))]


@pytest.mark.parametrize(
    ("conversations", "reason"),
    [
        ([{"role": "user", "content": "a\ud800"}], "parquet:lone_surrogate"),
        ([{"role": "user", "content": "a", "name": "b"}], "parquet:odd_message"),
        ([{"role": "user", "content": ["a"]}], "parquet:odd_value"),
        ([{**MESSAGE, "tool_calls": [CALL | {"extra": 1}]}], "parquet:odd_message"),
        ([{**MESSAGE, "tool_calls": {"a": 1}}], "parquet:odd_message"),
        ([{**MESSAGE, "tool_calls": [CALL | {"function": {"name": "f", "arguments": {}}}]}], "parquet:odd_value"),
        ([{**MESSAGE, "tool_calls": [CALL | {"index": 0}]}], None),
        ([{**MESSAGE, "tool_calls": [CALL | {"index": 2**64}]}], "parquet:odd_value"),
    ],
)  # fmt: skip
def test_a_line_that_no_table_holds_is_refused_with_its_reason(conversations: Any, reason: str | None) -> None:
    assert why_not(Preset.INLINE_THINK, line(id="1", conversations=conversations)) == reason


def test_the_same_lines_are_the_same_bytes_in_groups_that_depend_on_lines_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 200)
    lines = [line(id=str(n), conversations=[{"from": "human", "value": "x" * n}]) for n in range(150)]
    files = []
    for step in (1, 7, 150):
        stream = io.BytesIO()
        sink = TableSink(stream, Preset.SHAREGPT)
        for start in range(0, 150, step):
            sink.write(lines[start : start + step])
        assert sink.so_far[0] == sum(map(len, lines))
        assert sink.finish().rows == 150
        files.append(stream.getvalue())
    assert files[0] == files[1] == files[2]
    groups = pq.ParquetFile(pa.BufferReader(files[0])).metadata
    sizes = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
    assert max(sizes) == 3
    assert min(sizes[:-1]) < 3


def test_the_file_says_which_columns_are_json() -> None:
    notes = json.loads(schema_of(Preset.MESSAGES).metadata[b"thinkledger"])
    assert notes == {"preset": "messages", "json_columns": ["tools"]}
