"""Queues of others, with the same prompts and answers as ours, each change durable (synchronous FULL) by its own means.

Run by the Python of their own virtual environment: `python -m benchmarks.other_queues NAME FOLDER JOBS` prints what it
took as JSON. A queue that keeps no results keeps the answers in a second queue of the same kind.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import data
from benchmarks.measuring import Meter, cpu_s_with_children
from benchmarks.server_queue import procrastinate

FIRST = 64  # go through before anything is measured, as on our side: imports, schema and statements are no job's
Through = Callable[[Sequence[str], Sequence[str]], None]  # brings prompts in and out, with their answers


def huey(folder: Path) -> Through:
    """Tasks with results, as its consumer takes and executes them."""
    from huey import SqliteHuey

    queue = SqliteHuey(filename=str(folder / "huey.db"), fsync=True)
    kept: list[str] = []

    @queue.task()
    def ask(place: int, _prompt: str) -> str:
        return kept[place]

    def through(prompts: Sequence[str], answers: Sequence[str]) -> None:
        kept[:] = answers
        for place, prompt in enumerate(prompts):
            ask(place, prompt)
        for _ in prompts:
            assert queue.execute(queue.dequeue()) is not None

    return through


def litequeue(folder: Path) -> Through:
    """Messages that are locked and done."""
    from litequeue import LiteQueue

    queue, done = LiteQueue(folder / "prompts.db"), LiteQueue(folder / "answers.db")
    for one in (queue, done):
        one.conn.execute("PRAGMA synchronous=FULL")

    def through(prompts: Sequence[str], answers: Sequence[str]) -> None:
        for prompt in prompts:
            queue.put(prompt)
        for answer in answers:
            message = queue.pop()
            done.put(answer)
            queue.done(message.message_id)

    return through


def persist_queue(folder: Path) -> Through:
    """Entries that are acknowledged; SQLite's own default is FULL."""
    from persistqueue import SQLiteAckQueue

    queue = SQLiteAckQueue(str(folder / "prompts"), auto_commit=True)
    done = SQLiteAckQueue(str(folder / "answers"), auto_commit=True)

    def through(prompts: Sequence[str], answers: Sequence[str]) -> None:
        for prompt in prompts:
            queue.put(prompt)
        for answer in answers:
            prompt = queue.get()
            done.put(answer)
            queue.ack(prompt)

    return through


QUEUES: dict[str, Callable[[Path], Through]] = {"huey": huey, "litequeue": litequeue, "persist-queue": persist_queue}


def main(name: str, folder: str, jobs: str, url: str | None = None, server: str | None = None) -> None:
    """Enqueue, claim and complete so many jobs. Of a queue on a server at `url`, the server's processes count too."""
    every = range(int(jobs) + FIRST)
    prompts = [data.messages(number) for number in every]
    answers = [data.body(number).decode() for number in every]
    Path(folder).mkdir()
    through = QUEUES[name](Path(folder)) if url is None else procrastinate(url)
    through(prompts[:FIRST], answers[:FIRST])
    before_s = 0.0 if server is None else cpu_s_with_children(int(server))
    with Meter() as meter:
        through(prompts[FIRST:], answers[FIRST:])
    spent = meter.spent()
    if server is not None:
        spent = replace(spent, cpu_s=spent.cpu_s + cpu_s_with_children(int(server)) - before_s)
    print(json.dumps(asdict(spent)))


if __name__ == "__main__":
    main(*sys.argv[1:])
