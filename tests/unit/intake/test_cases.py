"""The recorded rows come out in exactly the normal form that was agreed for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.intake.rows import Reading, Row, read_row

CASES = Path(__file__).parents[2] / "cases" / "datasets.jsonl"


def _cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_bytes().split(b"\n") if line]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case['format']}-{case['index']}")
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_recorded_row_has_its_agreed_form(case: dict[str, Any], ascii_only: bool) -> None:
    row = read_row(1, json.dumps(case["row"], ensure_ascii=ascii_only).encode(), Reading())
    expected = case["expected"]
    if expected["dropped"] is not None:
        assert not isinstance(row, Row)
        assert row.reason == expected["dropped"]
        return
    assert isinstance(row, Row)
    assert json.loads(row.messages) == expected["messages"]
    assert (None if row.tools is None else json.loads(row.tools)) == expected["tools"]
    assert row.identity.base_id == expected["sample_id"]
    assert list(row.notes) == expected["notes"]
