"""`thinkledger parse` as it is typed: every case of the case file through the real command."""

import json
from pathlib import Path
from typing import Any

from tests.support.product import Product
from tests.unit.capture.case_file import CASES, COLUMNS, TESTS

KEYS = ("id", *COLUMNS, "flags", "rejoin", "all")


def wanted(case: dict[str, Any]) -> dict[str, Any]:
    """The line that a case expects: `rejoin` and `all` only where it has them."""
    expect = {"id": case["id"]} | case["expect"]
    return {key: expect[key] for key in KEYS if key in expect} | {"flags": sorted(expect["flags"])}


def test_every_case_comes_out_as_it_expects(tmp_path: Path) -> None:
    product = Product(tmp_path)
    done = product.run("parse", str(TESTS / "cases" / "capture.jsonl"), "--jsonl")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 205
    assert found == [wanted(case) for case in CASES]
    assert list(tmp_path.iterdir()) == []  # no store was made


def test_a_bad_line_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": "t</think>a"}, "finish_reason": "stop"}]}
    lines = [
        json.dumps({"body": body}),
        '{"body": ',
        "",
        "[]",
        '{"id": "neither"}',
        '{"body": {}, "body_raw": "both"}',
        '{"body": {}, "request": {"profile": "none such"}}',
        '{"body": {}, "request": {"thinking": "yes"}}',
        '{"body_raw": 1}',
        '{"body": {}, "http_status": "200"}',
        "[" * 100_000,
        json.dumps({"id": 7, "body_raw": 'data: {"choices": [{"index": 0, "delta": {"content": "\\ud800"}, "x": 1}]}'}),
    ]
    done = Product(tmp_path).run("parse", stdin="\n".join(lines).encode(), code=6)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in found] == ["split_from_content", "malformed"]
    assert found[0] == {
        "reasoning": "t", "content": "a", "tool_calls": None, "verdict": "split_from_content", "flags": [],
        "rejoin": ["", "", "t", "</think>", "a"],
    }  # fmt: skip
    assert found[1]["id"] == 7
    errors = [line for line in done.stderr.decode().splitlines() if line.startswith("error: line ")]
    assert [int(line.split()[2].rstrip(":")) for line in errors] == [2, 4, 5, 6, 7, 8, 9, 10, 11]


def test_a_stream_is_read_from_its_bytes_and_half_a_surrogate_pair_comes_out(tmp_path: Path) -> None:
    stream = (
        'data: {"choices": [{"index": 0, "delta": {"content": "t\\ud800</think>a"}, "finish_reason": "stop"}]}\n\n'
        "data: [DONE]\n\n"
    )
    line = json.dumps({"request": {"stream": True}, "body_raw": stream})
    done = Product(tmp_path).run("parse", "-", stdin=line.encode())
    assert json.loads(done.stdout)["reasoning"] == "t\ud800"


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    Product(tmp_path).run("parse", "absent.jsonl", code=3)
    Product(tmp_path).run("parse", ".", code=2)
