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


def main(name: str, folder: str, jobs: str, url: str | None = None, server: str | None = None) -> None:
    """Enqueue, claim and complete so many jobs. Of a queue on a server at `url`, the server's processes count too."""
    prompts = [data.messages(number) for number in range(int(jobs))]
    answers = [data.body(number).decode() for number in range(int(jobs))]
    Path(folder).mkdir()
    work = QUEUES[name] if url is None else procrastinate(url)
    before_s = 0.0 if server is None else cpu_s_with_children(int(server))
    with Meter() as meter:
        work(Path(folder), prompts, answers)
    spent = meter.spent()
    if server is not None:
        spent = replace(spent, cpu_s=spent.cpu_s + cpu_s_with_children(int(server)) - before_s)
    print(json.dumps(asdict(spent)))


if __name__ == "__main__":
    main(*sys.argv[1:])
