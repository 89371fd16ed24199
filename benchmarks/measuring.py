"""How something is measured: CPU time with that of children, works in turn, ratios within one round."""

import gc
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.forks import environment

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a piece of work took."""

    cpu_s: float  # user and system, of the process, its threads and its ended children
    wall_s: float
    peak_bytes: int = 0  # resident memory of the process, at most
    result: Any = None


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def cpu_s_of(pid: int) -> float:
    """CPU seconds of a process that runs, as far as the kernel counts them: in hundredths."""
    return sum(map(int, _stat_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def cpu_s_with_children(pid: int) -> float:
    """The same with those of its children, the ended ones too."""
    processes = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    ticks = sum(map(int, _stat_of(pid)[11:15]))
    for child in processes:
        try:
            fields = _stat_of(child)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
        if int(fields[1]) == pid:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name of the process."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def peak_bytes() -> int:
    """The most resident memory that this process has had. `ru_maxrss` would be at least that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def put_out_of_sight() -> None:
    """Let the garbage collector forget what was made for the measure; in the product nobody holds thousands of rows."""
    gc.collect()
    gc.freeze()


class Meter:
    """`with Meter() as meter:` measures what is done within it, in this process."""

    def __enter__(self) -> Self:
        self._cpu_s, self._wall_s = cpu_s(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cpu_s, self._wall_s = cpu_s() - self._cpu_s, time.perf_counter() - self._wall_s

    def spent(self, result: Any = None) -> Spent:
        """What it took, after its end."""
        return Spent(self._cpu_s, self._wall_s, peak_bytes(), result)


def in_child(work: Callable[..., Spent], *arguments: Any) -> Spent:
    """Do it in a process of its own, where it measures what counts: so its memory is its own."""
    order = json.dumps([work.__module__, work.__name__, arguments], default=str)
    command = [sys.executable, "-m", "benchmarks.measuring", order]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    return Spent(**json.loads(done.stdout.splitlines()[-1]))


def of_command(command: Sequence[str], folder: Path, code: int = 0) -> Spent:
    """Run a command to its end; all that it took, its start too."""
    begun = time.perf_counter()
    with (folder / "command.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}, see {folder / 'command.log'}")
    return Spent(used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss * 1024)


def in_turn(rounds: int, *works: Callable[[], Spent]) -> list[list[Spent]]:
    """Each work once a round, so that a slow minute of the machine meets all of them; a list a work."""
    taken = [[work() for work in works] for _ in range(rounds)]
    return [list(one) for one in zip(*taken, strict=True)]


def ratio(ours: Sequence[float], reference: Sequence[float]) -> float:
    """The median of the rounds' own ratios."""
    return statistics.median(a / b for a, b in zip(ours, reference, strict=True))


def cpu_ratio(ours: Sequence[Spent], reference: Sequence[Spent]) -> float:
    """`ratio` of CPU times."""
    return ratio([one.cpu_s for one in ours], [one.cpu_s for one in reference])


def median_cpu_s(taken: Sequence[Spent]) -> float:
    """The median of CPU times."""
    return statistics.median(one.cpu_s for one in taken)


def main(order: str) -> None:
    """The child of `in_child`."""
    module, name, arguments = json.loads(order)
    work = getattr(importlib.import_module(module), name)
    print(json.dumps(asdict(work(*arguments))))


if __name__ == "__main__":
    main(sys.argv[1])
