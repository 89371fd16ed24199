"""The case file and the recordings, how they are read, and when a reading is what they expect."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import app.capture
from app.capture import Reading

Row = dict[str, Any]

TESTS = Path(__file__).parents[2]
COLUMNS = ("reasoning", "content", "tool_calls", "verdict")


def load(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CASES = load(TESTS / "cases" / "capture.jsonl")
RECORDINGS = [row for path in sorted((TESTS / "recordings").glob("*.jsonl")) for row in load(path)]


def read_case(case: Row, capture: ModuleType = app.capture) -> Reading:
    """The reading of a case by the parser, or by a changed copy of it."""
    request = case["request"]
    asked = capture.Asked(
        thinking=request["thinking"], profile=request.get("profile", "think"), prompt=request.get("prompt", "")
    )
    if "chunks" in case:
        return capture.read_chunks(case["http_status"], case["chunks"], asked)
    body = case["body_raw"] if "body_raw" in case else json.dumps(case["body"])
    return capture.read_body(case["http_status"], body.encode(), asked)


def seen(reading: Reading) -> Row:
    """A reading in the shape of a case's `expect`."""
    row = {column: getattr(reading, column) for column in COLUMNS}
    choices = [{column: getattr(one, column) for column in ("index", *COLUMNS)} for one in reading.choices]
    parts = None if reading.parts is None else list(reading.parts)
    return {**row, "flags": set(reading.flags), "rejoin": parts, "all": choices}


def expected(expect: Row, found: Row) -> Row:
    """The `expect` of a case in the same shape; `all` counts only where the case lists it."""
    wanted = {column: expect[column] for column in COLUMNS}
    return {
        **wanted,
        "flags": set(expect["flags"]),
        "rejoin": expect.get("rejoin"),
        "all": expect.get("all", found["all"]),
    }
