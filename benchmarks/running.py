"""Workers and the commands of the product as processes, and what they took."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from benchmarks import data
from benchmarks.measuring import Spent
from tests.support.forks import COMMAND, environment
from tests.support.product import Product


def prompts_file(folder: Path, prompts: int, size: int = 2048) -> Path:
    """Prompts of so many characters, a line each."""
    file = folder / "prompts.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for number in range(prompts):
            messages = json.loads(data.messages(number, size))
            out.write(json.dumps({"sample_id": f"s{number}", "messages": messages}) + "\n")
    return file


def imported(folder: Path, file: Path) -> Product:
    """A store with these prompts."""
    folder.mkdir()
    product = Product(folder)
    product.run("import", "data", str(file))
    return product


def copied(product: Product, folder: Path) -> Product:
    """The same store in another folder."""
    folder.mkdir()
    copy = Product(folder)
    shutil.copy(product.db, copy.db)
    return copy


@contextmanager
def beside(works: Sequence[Callable[[Event], object]]) -> Iterator[None]:
    """Each work in a thread of its own until the block ends, which its event tells it; what fails in one is raised."""
    over = Event()
    with ThreadPoolExecutor(len(works)) as threads:
        begun = [threads.submit(work, over) for work in works]
        try:
            yield
        finally:
            over.set()
        for one in begun:
            one.result()


class Running:
    """A process that was started, and what it took at its end."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.command = command
        self.log = folder / f"{time.monotonic_ns()}.log"
        self._begun_s = time.perf_counter()
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=out, stderr=out)

    def cpu_s(self) -> float:
        """CPU seconds until now, in the kernel's hundredths."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """The most resident memory until now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def has_ended(self) -> bool:
        """Whether nothing is left of it but its exit code."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, code: int = 0) -> Spent:
        """Its end."""
        peak = self._peak_until_end()
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != code:
            said = self.log.read_text(errors="replace")
            raise RuntimeError(f"{' '.join(self.command)}: exit {self.process.returncode}\n{said}")
        return Spent(used.ru_utime + used.ru_stime, time.perf_counter() - self._begun_s, peak)

    def _peak_until_end(self) -> int:
        """The last peak that was seen: a process that has ended has none any more."""
        peak = 0
        while not self.has_ended():
            try:
                peak = self.peak_bytes()
            except (IndexError, FileNotFoundError, ProcessLookupError):
                break  # it is ending
            time.sleep(0.02)
        return peak


def worker(product: Product, url: str, *arguments: str) -> Running:
    """`worker start` until nothing is left."""
    order = ("worker", "start", "--endpoint", url, "--until-empty", "--skip-preflight", "--token-ids", "off")
    return Running([*COMMAND, *order, *arguments], product.folder)
