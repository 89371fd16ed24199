"""The rules by which trainers read a file, restated from what their documents and sources say that they do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class ReaderError(ValueError):
    """The reader would stop here."""


def speculators(path: Path, max_length: int = 8192, least: int | None = None) -> list[tuple[list[int], list[int]]]:
    """Rows with ids and mask are taken as they are: cut at the length, left out where nothing is trained on."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    if not all({"input_ids", "loss_mask"} <= row.keys() for row in rows):
        raise ReaderError("one column set for the whole file")
    found = []
    for row in rows:
        if len(row["input_ids"]) != len(row["loss_mask"]):
            raise ReaderError("lengths differ")
        ids, mask = row["input_ids"][:max_length], row["loss_mask"][:max_length]
        if sum(mask) > 0 and (least is None or sum(mask) >= least):
            found.append((ids, mask))
    return found


def resumed_ids(path: Path) -> set[str]:
    """Which conversations speculators' own regeneration would not ask again."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return {str(row.get("primary_id") or row["id"]) for row in rows}


def specforge(path: Path, max_length: int = 8192, least: int = 1) -> list[tuple[list[int], list[int]]]:
    """The first row decides that all are tokenized; ids are whole numbers, the mask zeros and ones, no row is empty."""
    found = []
    for number, row in _records(path):
        if ("input_ids" in row) != ("loss_mask" in row) or "input_ids" not in row:
            raise ReaderError(f"row {number} has one without the other")
        ids, mask = row["input_ids"], row["loss_mask"]
        if any(type(one) is not int for one in (*ids, *mask)) or not set(mask) <= {0, 1}:
            raise ReaderError(f"row {number} has other values")
        if len(ids) != len(mask) or not ids:
            raise ReaderError(f"row {number} has other lengths")
        if sum(mask[:max_length]) >= least:
            found.append((ids[:max_length], mask[:max_length]))
    return found


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lines as text mode gives them: a bare carriage return ends one too."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ReaderError(f"row {number} is no object")
                yield number, row


def specforge_preformatted(path: Path, header: str, end: str) -> list[tuple[str, str]]:
    """Of a `text`, what follows the assistant's header up to the end of the turn is trained on: (before, trained)."""
    found = []
    for _, row in _records(path):
        before, marker, rest = row["text"].rpartition(header)
        if not marker:
            raise ReaderError("no assistant turn")
        trained, ended, _ = rest.partition(end)
        found.append((before + marker, trained + ended))
    return found


def torchspec_kimi(conversation: list[dict[str, Any]]) -> str:
    """Kimi's turns by hand: thoughts of all but the last answer go; one that does not begin with <think> gets none."""
    import re

    heads = {"user": "<|im_user|>user", "assistant": "<|im_assistant|>assistant", "system": "<|im_system|>system",
             "tool": "<|im_system|>tool"}  # fmt: skip
    answers = [place for place, turn in enumerate(conversation) if turn["role"] == "assistant"]
    text = ""
    for place, turn in enumerate(conversation):
        content = turn["content"]
        if turn["role"] == "assistant":
            if place != answers[-1]:
                content = re.sub(r"<think>[\s\S]*?</think>", "", content)
            if not content.startswith("<think>"):
                content = ("<think>" if "</think>" in content else "<think></think>") + content
        text += f"{heads[turn['role']]}<|im_middle|>{content}<|im_end|>"
    return text


def eagle(row: dict[str, Any]) -> list[dict[str, str]]:
    """Turns of human and gpt, one after the other; any other speaker ends the whole run with a KeyError."""
    roles = {"human": "user", "gpt": "assistant"}
    source = row["conversations"]
    if roles[source[0]["from"]] != "user":
        source = source[1:]
    turns = [{"role": roles[turn["from"]], "content": turn["value"]} for turn in source]
    if [turn["role"] for turn in turns] != [("user", "assistant")[place % 2] for place in range(len(turns))]:
        raise ReaderError("turns do not alternate")
    return turns


def trl(row: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(not trained on, trained on): a row with `prompt` is a pair, any other is the whole of its `messages`."""
    if "prompt" in row:
        return row["prompt"], row["completion"]
    return [], row["messages"]


def specforge_messages(row: dict[str, Any], parser: str) -> list[dict[str, Any]]:
    """What SpecForge hands to the chat template: the keys that its parser knows; other columns become variables."""
    keys = {"role", "content", "tool_calls"} | ({"reasoning_content"} if parser == "thinking" else set())
    assert set(row) <= {"id", "conversations", "tools", "status"}
    return [{key: value for key, value in turn.items() if key in keys} for turn in row["conversations"]]


def llama_factory(row: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """`formatting: sharegpt` with the tags role and content: a system turn first, then user and assistant in turn."""
    turns = row["conversations"]
    system = turns[0]["content"] if turns[0]["role"] == "system" else ""
    turns = turns[1:] if turns[0]["role"] == "system" else turns
    if [turn["role"] for turn in turns] != ["user", "assistant"] * (len(turns) // 2):
        raise ReaderError("skipped as abnormal")
    return system, turns
