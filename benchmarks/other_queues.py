"""Queues of others, with the same prompts and answers as ours, each change durable (synchronous FULL) by its own means.

Run by the Python of their own virtual environment: `python -m benchmarks.other_queues NAME FOLDER JOBS` prints what it
took as JSON. A queue that keeps no results keeps the answers in a second queue of the same kind.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import data
from benchmarks.measuring import Meter

Work = Callable[[Path, Sequence[str], Sequence[str]], None]


def huey(folder: Path, prompts: Sequence[str], answers: Sequence[str]) -> None:
    """Tasks with results, as its consumer takes and executes them."""
    from huey import SqliteHuey

    queue = SqliteHuey(filename=str(folder / "huey.db"), fsync=True)

    @queue.task()
    def ask(place: int, _prompt: str) -> str:
        return answers[place]

    for place, prompt in enumerate(prompts):
        ask(place, prompt)
    for _ in prompts:
        assert queue.execute(queue.dequeue()) is not None


def litequeue(folder: Path, prompts: Sequence[str], answers: Sequence[str]) -> None:
    """Messages that are locked and done."""
    from litequeue import LiteQueue

    queue, done = LiteQueue(folder / "prompts.db"), LiteQueue(folder / "answers.db")
    for one in (queue, done):
        one.conn.execute("PRAGMA synchronous=FULL")
    for prompt in prompts:
        queue.put(prompt)
    for answer in answers:
        message = queue.pop()
        done.put(answer)
        queue.done(message.message_id)


def persist_queue(folder: Path, prompts: Sequence[str], answers: Sequence[str]) -> None:
    """Entries that are acknowledged; SQLite's own default is FULL."""
    from persistqueue import SQLiteAckQueue

    queue = SQLiteAckQueue(str(folder / "prompts"), auto_commit=True)
    done = SQLiteAckQueue(str(folder / "answers"), auto_commit=True)
    for prompt in prompts:
        queue.put(prompt)
    for answer in answers:
        prompt = queue.get()
        done.put(answer)
        queue.ack(prompt)


QUEUES: dict[str, Work] = {"huey": huey, "litequeue": litequeue, "persist-queue": persist_queue}


def main(name: str, folder: str, jobs: str) -> None:
    """Enqueue, claim and complete so many jobs."""
    prompts = [data.messages(number) for number in range(int(jobs))]
    answers = [data.body(number).decode() for number in range(int(jobs))]
    Path(folder).mkdir()
    with Meter() as meter:
        QUEUES[name](Path(folder), prompts, answers)
    print(json.dumps(asdict(meter.spent())))


if __name__ == "__main__":
    main(*sys.argv[1:])
