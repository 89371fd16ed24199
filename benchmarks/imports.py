"""F. An import against parsing the lines and inserting them in raw sqlite3, and the same import once more."""

import json
from pathlib import Path

from app.intake.importing import import_file
from app.intake.request import ImportRequest
from app.store.store import open_store
from benchmarks import cycle, data
from benchmarks.figure import Figure
from benchmarks.library import sqlite3
from benchmarks.measuring import Meter, Spent, cpu_ratio, in_child, in_turn, median_cpu_s
from benchmarks.scale import Scale

DIFFERENT = 1000  # texts; what makes every prompt another one is its number
ROUNDS = 2  # of a million prompts each, a third of all that `make bench` takes


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """CPU a prompt on both sides."""
    file = folder / "prompts.jsonl"
    texts = [data.text(number, 2048) for number in range(DIFFERENT)]
    with file.open("w", encoding="utf-8") as out:
        for number in range(scale.prompts):
            content = f"{number}: {texts[number % DIFFERENT]}"
            row = {"sample_id": f"s{number}", "messages": [{"role": "user", "content": content}]}
            out.write(json.dumps(row) + "\n")
    ours, raw_store = folder / "ours.db", folder / "raw.db"
    first, again, raw = in_turn(
        ROUNDS,
        lambda: in_child(ours_in, _new(ours), file, scale.prompts),
        lambda: in_child(ours_in, ours, file, 0),
        lambda: in_child(raw_in, _new(raw_store), file),
    )
    sides = [1e6 * median_cpu_s(side) / scale.prompts for side in (first, again, raw)]
    note = "{:.0f} against {:.0f} us a prompt"
    return [
        Figure(
            "F", f"import of {scale.prompts:,} prompts, CPU against parse + executemany", cpu_ratio(first, raw), 2.5,
            note=note.format(sides[0], sides[2]),
        ),
        Figure(
            "F", "repeated import, against the first", cpu_ratio(again, first), 0.25, note=note.format(*sides[1::-1])
        ),
        Figure("F", "peak memory", max(one.peak_bytes for one in (*first, *again)) / 2**20, 200, "MB"),
    ]  # fmt: skip


def _new(db: Path) -> Path:
    """A place without a store: a round's takes some gigabytes, and the next one needs the room."""
    for old in db.parent.glob(f"{db.name}*"):
        old.unlink()
    return db


def ours_in(db: str, file: str, added: int) -> Spent:
    """Our import, into a new store or the one that has it all; so many prompts are new."""
    spent: Spent = cycle.run(_ours, db, file, added)  # type: ignore[assignment]
    return spent


async def _ours(db: str, file: str, added: int) -> Spent:
    async with open_store(db, create=True) as store:
        with Meter() as meter:
            report = await import_file(store, ImportRequest("data", file), lambda _progress: None)
    assert report.added == added
    return meter.spent()


def raw_in(db: str, file: str) -> Spent:
    """The reference: a row a line, its id unique."""
    connection = sqlite3.connect(db, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE prompt (id INTEGER PRIMARY KEY, sample_id TEXT NOT NULL UNIQUE, messages TEXT NOT NULL,"
        " state TEXT NOT NULL) STRICT"
    )
    with Meter() as meter, Path(file).open("rb") as lines:
        while batch := lines.readlines(4 * 2**20):  # as many bytes a transaction as ours
            rows = [json.loads(line) for line in batch]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO prompt (sample_id, messages, state) VALUES (?, ?, 'ready')",
                [(row["sample_id"], json.dumps(row["messages"])) for row in rows],
            )
            connection.execute("COMMIT")
    connection.close()
    return meter.spent()
