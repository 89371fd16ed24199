"""Where a scenario plays: a store in a folder of its own, a simulator, processes under orders, and what was tried."""

import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tests.drill.catalogue import Size
from tests.drill.invariants import Findings, Witness, examine, summed
from tests.drill.orders import Orders
from tests.drill.support import IDLE_ENOUGH, idle_share
from tests.support.postgres import server
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.simulator import Simulator
from tests.support.site import OnServer
from tests.support.talks import conversations, words

WORKER = ("--skip-preflight", "--until-empty")
RESUME_LOOKS_S = 0.005
RESUME_PATIENCE_S = 120.0
KILLED = -signal.SIGKILL

Value = TypeVar("Value")


def small_reserve(arguments: Sequence[str]) -> list[str]:
    """The arguments of a worker, with a spool that fits on a small disk."""
    return [*arguments, *(["--spool-reserve", "8MiB"] if "--spool-reserve" not in arguments else [])]


@dataclass
class Ledger:
    """What a scenario did to the product."""

    tried: int = 0  # how often the fault was there
    kills: int = 0
    excused: int = 0  # requests in flight when somebody was killed, released or declared dead
    resumes_s: list[float] = field(default_factory=list)
    schedule: list[str] = field(default_factory=list)  # the faults in their order, where chance orders them
    problems: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # measured on the way, for the last column


class Stage:
    """One scenario's surroundings."""

    def __init__(
        self,
        folder: Path,
        seed: str,
        size: Size,
        broken: str | None = None,
        *,
        on_server: bool = False,
    ) -> None:
        self.product = OnServer(folder, server()) if on_server else Product(folder)
        self.chance = random.Random(seed)
        self.size = size
        self.ledger = Ledger()
        self.witness = Witness(asked={}, journal=folder / "journal")
        self._orders = Orders(broken=broken, journal=str(folder / "journal"), on_server=on_server)
        self._asked: dict[str, list[str]] = {}
        self._counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._idle = 1.0
        self._running: list[RunningWorker] = []

    def pick(self, short: Value, full: Value, long: Value | None = None) -> Value:
        """A size for this drill."""
        return (short, full, full if long is None else long)[self.size]

    # Prompts

    def ask(self, count: int, name: str = "d", *settings: str, mark: Mapping[int, str] | None = None) -> list[str]:
        """A dataset of so many prompts; `mark` puts words in front of some of them."""
        marks = mark or {}
        prompts = [f"{marks.get(n, '')}{name} number {n}: what is {n} times {n + 7}?" for n in range(count)]
        rows = [json.dumps({"sample_id": f"s{n}", "prompt": prompt}) + "\n" for n, prompt in enumerate(prompts)]
        (self.product.folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
        self.expect_asked(name, prompts)
        self.command("import", name, f"{name}.jsonl")
        if settings:
            self.command("datasets", "set", name, *settings)
        return prompts

    def ask_talks(self, turns: Mapping[str, int], name: str = "talks", *settings: str) -> None:
        """A dataset of conversations with so many turns, asked one after another."""
        conversations(self.product.folder, turns, f"{name}.jsonl")
        talks = ["\n".join(words(talk, turn) for turn in range(count)) for talk, count in turns.items()]
        self.expect_asked(name, talks)
        self.witness = replace(self.witness, talks=self.witness.talks | set(talks))
        self.command("import", name, f"{name}.jsonl", "--turns", "all", *settings)

    def command(self, *command: str, code: int = 0) -> str:
        """A command to its end; what it said."""
        running = self.start(*command)
        found = self.end_of(running)
        self.expect(found == code, f"`{' '.join(command)}` ended with {found}: {running.said()[-300:]}")
        return running.said()

    def expect_asked(self, name: str, prompts: list[str]) -> None:
        """The prompts that dataset `name` must hold at the end."""
        self._asked[name] = prompts

    # Processes

    @contextmanager
    def simulator(self, *arguments: str) -> Iterator[Simulator]:
        """A simulator whose counts are taken at the end."""
        with Simulator(*arguments) as running:
            yield running
            self.end_all()
            self.count(running)

    def count(self, simulator: Simulator) -> None:
        """Take the counts of a simulator that will not be asked again."""
        requests, answers = summed(simulator.stats(prompts=True)["by_prompt"])
        self._counts[0].update(requests)
        self._counts[1].update(answers)

    def start(self, *command: str, **orders: object) -> RunningWorker:
        """A command of the product, forked, under orders (fields of `Orders`)."""
        given = replace(self._orders, **orders)  # type: ignore[arg-type]
        under = ["--orders", given.as_text(), "--", *command]
        running = RunningWorker(under, self.product.folder, entry="tests.drill.launch:main")
        self._running.append(running)
        return running

    def worker(self, url: str, *arguments: str, **orders: object) -> RunningWorker:
        """`worker start` as a forked process."""
        return self.start("worker", "start", "--endpoint", url, *WORKER, *small_reserve(arguments), **orders)

    def fresh_worker(self, url: str, *arguments: str, through: tuple[str, ...] = (), **variables: str) -> RunningWorker:
        """`worker start` as a process of its own interpreter, with changes to its environment."""
        launcher = [*through, sys.executable, "-m", "tests.drill.launch", "--orders", self._orders.as_text(), "--"]
        command = ("worker", "start", "--endpoint", url, *WORKER, *small_reserve(arguments))
        running = self.product.start(*command, through=launcher, **variables)
        self._running.append(running)
        return running

    def end_of(self, running: RunningWorker, patience_s: float = 240) -> int:
        """The exit code of a process, and no traceback in what it said."""
        code = running.process.wait(timeout=patience_s)
        if "Traceback" in running.said():
            self.ledger.problems.append(f"a traceback: {running.said()[-600:]}")
        return code

    def finish(self, url: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> None:
        """A worker until nothing is left; datasets that gates hold are resumed, as a person would."""
        for _ in range(40):
            code = self.end_of(self.worker(url, *arguments))
            if code != 7:
                break
            for name in self._asked:
                self.command("datasets", "resume", name)
        self.expect(code in codes, f"the last worker ended with {code}, not {codes}")

    def killed(self, running: RunningWorker) -> bool:
        """Wait for a process that was ordered to die; note what it had in flight. False where it ended by itself."""
        code = self.end_of(running)
        if code == KILLED:
            self.note_kill()
        else:
            self.expect(code in (0, 6, 7), f"a process under orders ended with {code}: {running.said()[-300:]}")
        return code == KILLED

    def kill(self, running: RunningWorker) -> None:
        """kill -9 from outside."""
        running.kill()
        self.note_kill()

    def note_kill(self) -> None:
        """A worker was killed: what it had leased and not stored may be asked again."""
        self.ledger.kills += 1
        self.ledger.tried += 1
        self.excuse_leased()

    def excuse_leased(self) -> None:
        """The jobs that are leased now, and whose body is not stored, may be asked a second time."""
        if self.product.is_made():
            open_jobs = "SELECT count(*) FROM job WHERE state = 'leased' AND id NOT IN (SELECT job_id FROM unread)"
            self.ledger.excused += int(self.product.value(open_jobs))

    def done(self) -> int:
        """How many jobs are done."""
        return self.product.count("done")

    def wait_done(self, count: int) -> None:
        """Until so many jobs are done."""
        wait_for(lambda: self.done() >= count, f"{count} jobs done")

    # What holds

    def expect(self, holds: bool, words: str) -> None:
        """Something beside the common invariants."""
        if not holds:
            self.ledger.problems.append(words)

    def expect_measured(self, holds: bool, words: str) -> None:
        """A bound in seconds, which says something only where nobody else uses the machine."""
        if self._idle < IDLE_ENOUGH:
            self.ledger.figures.append(f"not judged, {self._idle:.0%} of the machine was idle: {words}")
        else:
            self.expect(holds, words)

    def look_at_machine(self) -> None:
        """Before something is measured: how much of the machine is free for it."""
        self._idle = idle_share()

    def resumed(self, since_s: float) -> None:
        """The work goes on; since when it was due (monotonic seconds)."""
        self.ledger.resumes_s.append(time.monotonic() - since_s)

    def until_asked(self, simulator: Simulator, since_s: float, before: int, running: RunningWorker) -> None:
        """Wait until the simulator gets a request more than `before`, and note how long it took."""
        end = time.monotonic() + RESUME_PATIENCE_S
        while simulator.stats()["requests"] <= before:
            if running.process.poll() is not None:
                return
            if time.monotonic() > end:
                self.expect(False, f"nothing was asked for {RESUME_PATIENCE_S:g} s")
                return
            time.sleep(RESUME_LOOKS_S)
        self.resumed(since_s)

    def examine(self) -> Findings:
        """Everything that must hold, after everybody has ended."""
        self.end_all()
        requests, answers = self._counts
        witness = replace(
            self.witness, asked=self._asked, requests=requests, answers=answers,
            excused=self.witness.excused + self.ledger.excused,
        )  # fmt: skip
        return examine(self.product.where, witness)

    def end_all(self) -> None:
        """No process outlives its scenario."""
        for running in self._running:
            running.kill()
        self._running.clear()
