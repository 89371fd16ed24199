"""Conversations in a file, and what every history that was sent must be: the answers accepted before it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.product import Product


def words(name: str, turn: int) -> str:
    """What the user says at a turn."""
    return f"human {name} {turn}"


def conversations(folder: Path, asked: Mapping[str, int], file_name: str = "talks.jsonl") -> Path:
    """A file of conversations with so many turns, whose own answers are to be replaced."""
    file = folder / file_name
    with file.open("w", encoding="utf-8") as out:
        for name, turns in asked.items():
            said = [
                {"from": speaker, "value": f"{speaker} {name} {turn}"}
                for turn in range(turns)
                for speaker in ("human", "gpt")
            ]
            out.write(json.dumps({"id": name, "conversations": said}) + "\n")
    return file


def answers(product: Product) -> dict[str, list[str]]:
    """The content of each accepted answer, by conversation, in the order of turns."""
    found: dict[str, list[str]] = {}
    for name, content in product.rows("SELECT sample_id, content FROM answer ORDER BY sample_id, turn"):
        found.setdefault(name, []).append(content)
    return found


def check_history(messages: list[dict[str, Any]], accepted: dict[str, list[str]]) -> None:
    """What the user says comes from the file, and every answer is the accepted one: no thought, nothing stripped."""
    name, turn = place(messages)
    expected = []
    for number in range(turn + 1):
        expected.append({"role": "user", "content": words(name, number)})
        expected.append({"role": "assistant", "content": accepted[name][number]})
    assert messages == expected[:-1]


def place(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """Which turn of which conversation a request asks for."""
    return messages[0]["content"].split()[1], len(messages) // 2
