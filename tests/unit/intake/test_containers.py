"""The same rows come out of every container, byte for byte; damage is refused where it stands."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.intake.lines import open_lines
from app.intake.rows import Reading, Reject, Row, read_row
from app.intake.split import Line
from app.model.errors import UsageError

CONTAINERS = Path(__file__).parents[2] / "containers"
EXPECTED = json.loads((CONTAINERS / "expected.json").read_text())


def _rows(path: Path) -> list[Line]:
    with open_lines(str(path)) as rows:
        found = [line for line in rows if line.fault is not None or line.data.strip()]
        assert (rows.sha256 is None) == any(line.fault == "damaged_file" for line in found)
        return found


def _written(folder: Path, name: str, data: bytes) -> list[Line]:
    (folder / name).write_bytes(data)
    return _rows(folder / name)


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case["file"])
def test_a_container_gives_the_agreed_rows(case: dict[str, object]) -> None:
    read = [read_row(line.number, line.data, Reading()) for line in _rows(CONTAINERS / str(case["file"]))]
    assert [row.identity.base_id for row in read if isinstance(row, Row)] == case["expected_ids"]
    rejected = [row.line for row in read if isinstance(row, Reject)]
    line = case.get("expected_error_line")
    assert rejected == ([] if line is None else [line])


def test_every_container_gives_the_same_contents() -> None:
    contents = {
        tuple(row.identity.content_sha256 for row in map(_read, _rows(CONTAINERS / name)) if isinstance(row, Row))
        for name in (
            "rows.jsonl",
            "rows.json",
            "rows_in_object.json",
            "rows.jsonl.gz",
            "rows.jsonl.zst",
            "rows.parquet",
        )
    }
    assert len(contents) == 1
    assert len(next(iter(contents))) == 6


def _read(line: Line) -> Row | Reject:
    return read_row(line.number, line.data, Reading())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just('"\\"],[{'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=8), st.booleans(), st.sampled_from([None, 1]), st.booleans())
def test_the_members_of_an_array_are_its_members(
    tmp_path_factory: pytest.TempPathFactory, rows: list[object], wrapped: bool, indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps({"data": rows} if wrapped else rows, indent=indent, ensure_ascii=ascii_only)
    found = _written(tmp_path_factory.mktemp("array"), "x.json", data.encode("utf-8", "surrogatepass"))
    assert [json.loads(line.data.decode("utf-8", "surrogatepass")) for line in found] == rows
    assert [line.number for line in found] == list(range(1, len(rows) + 1))


def test_a_member_may_be_longer_than_a_chunk_and_a_string_may_cross_it(tmp_path: Path) -> None:
    rows = [{"prompt": '\\"' * 200_000}, {"prompt": "x" * 262_143 + '"'}, {"prompt": "y"}]
    assert [json.loads(line.data) for line in _written(tmp_path, "x.json", json.dumps(rows).encode())] == rows


def test_a_member_over_the_limit_is_refused_and_the_next_one_read(tmp_path: Path) -> None:
    rows: list[object] = [{"prompt": "x" * (5 * 2**20)}, {"a": [[1]] * 3_000_000}, {"prompt": "y"}]
    found = _written(tmp_path, "x.json", json.dumps(rows).encode())
    assert [line.fault for line in found] == ["too_large", "too_large", None]
    assert json.loads(found[2].data) == {"prompt": "y"}
    assert all(len(line.data) <= 1000 for line in found)


@pytest.mark.parametrize("data", [b'[{"a": 1}, {"b": ', b'[{"a": 1}', b'[{"a": 1}, {"b": "x'])
def test_an_array_that_is_cut_off_is_a_reject_after_its_rows(tmp_path: Path, data: bytes) -> None:
    found = _written(tmp_path, "x.json", data)
    assert found[-1].fault == "cut_array"
    assert [line.fault for line in found[:-1]] == [None] * (len(found) - 1)


@pytest.mark.parametrize(
    ("data", "faults"),
    [
        (b'[{"a": 1},, {"b": 2}]', [None, "not_json", None]),
        (b'[{"a": 1}]\n[{"b": 2}]', [None, "after_array"]),
        (b'{"data": [{"a": 1}]}  \n', [None]),
        (b'{"data": [{"a": 1}], "more": 1}', [None, "after_array"]),
        (b'[{"a": 1]}', ["cut_array"]),
    ],
)
def test_what_is_no_array_of_rows_is_a_reject_at_its_place(
    tmp_path: Path, data: bytes, faults: list[str | None]
) -> None:
    assert [line.fault for line in _written(tmp_path, "x.json", data)] == faults


def test_an_array_is_read_to_its_end_so_that_its_hash_is_the_files(tmp_path: Path) -> None:
    data = b'[{"prompt": "a"}]' + b" " * 2**19
    (tmp_path / "x.json").write_bytes(data)
    with open_lines(str(tmp_path / "x.json")) as rows:
        assert len(list(rows)) == 1
        assert rows.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'{"prompt": "a"}\n{"prompt": "b"}\n', 2),  # lines under another name
        (b'{\n "prompt": "a",\n "n": 1\n}\n', 1),  # one object over several lines
        (b'{"prompt": "a"}', 1),
        (b'\xef\xbb\xbf[{"prompt": "a"}]', 1),
        (b"", 0),
        (b"[]", 0),
    ],
)
def test_a_json_file_may_hold_lines_or_one_object(tmp_path: Path, data: bytes, rows: int) -> None:
    assert len(_written(tmp_path, "x.json", data)) == rows


def test_a_json_array_may_be_compressed(tmp_path: Path) -> None:
    found = _written(tmp_path, "x.json.gz", gzip.compress(b'[{"prompt": "a"}, {"prompt": "b"}]'))
    assert [json.loads(line.data) for line in found] == [{"prompt": "a"}, {"prompt": "b"}]


def test_a_table_gives_objects_without_its_empty_cells(tmp_path: Path) -> None:
    data = '\ufeffid,prompt,system\r\n1,"two\nlines, and ""quotes""",\r\n2,\u2028 x,be brief\r\n'
    found = _written(tmp_path, "x.csv", data.encode())
    assert [json.loads(line.data) for line in found] == [
        {"id": "1", "prompt": 'two\nlines, and "quotes"'},
        {"id": "2", "prompt": "\u2028 x", "system": "be brief"},
    ]
    assert [line.number for line in found] == [1, 2]


def test_a_damaged_row_of_a_table_costs_only_itself(tmp_path: Path) -> None:
    found = _written(tmp_path, "x.tsv", b"id\tprompt\n1\ta\n2\n3\tb\xff\n4\tc\n")
    read = [line.fault or read_row(line.number, line.data, Reading()) for line in found]
    assert [row.identity.base_id for row in read if isinstance(row, Row)] == ["1", "4"]
    assert read[1] == "bad_table"
    assert found[1].detail == "1 cells, but the header has 2"
    assert isinstance(read[2], Reject)
    assert read[2].reason == "not_utf8"


def test_a_cut_parquet_file_is_named_as_damaged(tmp_path: Path) -> None:
    whole = (CONTAINERS / "rows.parquet").read_bytes()
    found = _written(tmp_path, "x.parquet", whole[: len(whole) // 2])
    assert [line.fault for line in found] == ["damaged_file"]


def test_parquet_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.intake.parquet.find_spec", {}.get)
    with pytest.raises(UsageError, match=r"thinkledger\[parquet\]"), open_lines(str(CONTAINERS / "rows.parquet")):
        pass
