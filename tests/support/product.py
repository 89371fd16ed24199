"""The product as its users run it: commands and workers as processes of their own."""

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import forks
from tests.support.forks import Forked, environment
from tests.support.kinds import db, kind
from tests.support.simulator import PATIENCE_SECONDS
from tests.support.typed import in_words


class Product:
    """A store in a folder of its own, or in a database that the folder's settings name, and the commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "thinkledger.db"
        self.say_where()

    def say_where(self) -> None:
        """Name the store in the folder's settings, as is not needed of a file that has the usual name."""
        if kind() != "sqlite":
            (self.folder / "thinkledger.toml").write_text(f'db = "{db(self.db)}"\n')

    @property
    def where(self) -> str:
        """What `--db` would be."""
        return str(self.db)

    def is_made(self) -> bool:
        """Whether there is a store by now; it may be empty."""
        return self.db.exists() and self.db.stat().st_size > 0

    def run(self, *arguments: str, code: int = 0, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        """One command to its end; its exit code must be `code`."""
        done = forks.run(in_words(self.folder, arguments), self.folder, stdin=stdin)
        said = done.stderr.decode(errors="replace")
        assert done.returncode == code, f"{' '.join(arguments)}: exit {done.returncode}, not {code}\n{said}"
        assert "Traceback" not in said, said
        return done

    def import_prompts(self, dataset: str, prompts: Iterable[str]) -> None:
        """One sample a prompt, with the ids s0, s1 ..."""
        file = self.folder / f"{dataset}.prompts.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for number, prompt in enumerate(prompts):
                row = {"sample_id": f"s{number}", "messages": [{"role": "user", "content": prompt}]}
                out.write(json.dumps(row) + "\n")
        self.run("import", dataset, str(file))

    @contextmanager
    def worker(self, url: str, *arguments: str, preflight: bool = False) -> Iterator["RunningWorker"]:
        """`worker start` as a process; killed at the end if it still runs."""
        running = self.start_worker(url, *arguments, preflight=preflight)
        try:
            yield running
        finally:
            running.kill()

    def start_worker(self, url: str, *arguments: str, preflight: bool = False) -> "RunningWorker":
        skip = [] if preflight else ["--skip-preflight"]
        return self.start("worker", "start", "--endpoint", url, *skip, *arguments)

    def start(self, *arguments: str, through: Sequence[str] = (), **variables: str) -> "RunningWorker":
        """Any command as a process; `through` starts it in another way, `variables` join its environment."""
        return RunningWorker(arguments, self.folder, through, **variables)

    def finish(self, url: str, *arguments: str, code: int = 0, preflight: bool = False) -> str:
        """A worker until nothing is left; what it said."""
        with self.worker(url, "--until-empty", *arguments, preflight=preflight) as running:
            return running.wait(code)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What the store says, read by a connection of our own."""
        if kind() != "sqlite":
            from tests.support.postgres import plainly

            with plainly(db(self.db)) as beside:
                return beside.execute(statement, values)
        connection = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=30)
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def peek(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The same while a command may be making the store's files, or dying over them; nothing then."""
        try:
            return self.rows(statement, *values)
        except sqlite3.OperationalError:
            return []

    def value(self, statement: str, *values: Any) -> Any:
        return self.rows(statement, *values)[0][0]

    def count(self, state: str) -> int:
        return int(self.value("SELECT count(*) FROM job WHERE state = ?", state))

    def export(self, dataset: str, name: str, *arguments: str) -> bytes:
        self.run("export", "--dataset", dataset, "--output", name, *arguments)
        return (self.folder / name).read_bytes()

    def check_invariants(self) -> None:
        """design: one state a job, one accepted response a done job, counters that add up, no lease of the dead."""
        assert self.rows("SELECT job_id FROM unread") == []
        doubled = """SELECT job.id FROM job LEFT JOIN response ON response.job_id = job.id
            AND accepted_seq IS NOT NULL AND superseded_seq IS NULL
            GROUP BY job.id HAVING count(response.id) <> CASE job.state WHEN 'done' THEN 1 ELSE 0 END"""
        assert self.rows(doubled) == []
        counted = """SELECT substr(metric, 7), sum(n) FROM counter WHERE metric LIKE 'state:%'
            GROUP BY 1 HAVING sum(n) <> 0 ORDER BY 1"""
        assert self.rows(counted) == self.rows("SELECT state, count(*) FROM job GROUP BY 1 ORDER BY 1")


class RunningWorker:
    """A worker process; what it says is kept."""

    process: "Forked | subprocess.Popen[bytes]"

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        through: Sequence[str] = (),
        entry: str = forks.ENTRY,
        **variables: str,
    ) -> None:
        self.log = folder / f"worker-{time.monotonic_ns()}.log"
        told = environment() | variables
        with self.log.open("wb") as out:
            if through:
                command = [*through, *arguments]
                self.process = subprocess.Popen(command, cwd=folder, env=told, stdout=out, stderr=out)
            else:
                self.process = forks.start(arguments, folder, stdout=out, stderr=out, surroundings=told, entry=entry)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self, code: int, patience_s: float = 8 * PATIENCE_SECONDS) -> str:
        """Its end; the exit code must be `code`."""
        found = self.process.wait(timeout=patience_s)
        said = self.said()
        assert found == code, f"worker: exit {found}, not {code}\n{said}"
        assert "Traceback" not in said, said
        return said

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9, as a crash or the kernel's memory killer does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def wait_for(fact: Callable[[], bool], what: str) -> None:
    """Return when `fact` holds; a fact that never comes is a failure that names it."""
    end = time.monotonic() + 4 * PATIENCE_SECONDS
    while not fact():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)  # a look at the fact again, not a wait for luck
