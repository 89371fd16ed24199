"""The drill's side of a nursery: children that look like processes of `subprocess`."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.drill.orders import Orders
from tests.support.product import RunningWorker, environment
from tests.support.simulator import PATIENCE_SECONDS, ROOT


class Forked:
    """One child. Its parent, the nursery, reaps it and tells how it ended."""

    def __init__(self) -> None:
        self.pid = 0
        self.returncode: int | None = None
        self.born = threading.Event()
        self.ended = threading.Event()

    def poll(self) -> int | None:
        """Its exit code, or None while it lives."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; `subprocess.TimeoutExpired` where it lives on."""
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired(f"child {self.pid}", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """A signal, while it lives."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)


class ForkedCommand(RunningWorker):
    """A command of the product as a child of a nursery."""

    def __init__(self, process: Forked, log: Path) -> None:
        self.log = log
        self.process: Any = process


class Nursery:
    """`with Nursery() as nursery:` forks commands in milliseconds."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.drill.nursery"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._children: dict[int, Forked] = {}  # by the number of their request
        self._living: dict[int, Forked] = {}  # by pid
        self._lock = threading.Lock()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS)
        self._listener.join(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start(self, command: Sequence[str], folder: Path, log: Path, orders: Orders) -> ForkedCommand:
        """Fork one command; it runs when this returns."""
        child = Forked()
        with self._lock:
            number = len(self._children)
            self._children[number] = child
            request = {"number": number, "command": list(command), "folder": str(folder), "log": str(log)}
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request | {"orders": orders.as_text()}).encode() + b"\n")
            self._process.stdin.flush()
        assert child.born.wait(PATIENCE_SECONDS), "the nursery bore no child"
        return ForkedCommand(child, log)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if "number" in said:
                child = self._children[said["number"]]
                child.pid = said["pid"]
                self._living[child.pid] = child
                child.born.set()
            else:
                child = self._living.pop(said["pid"])
                child.returncode = said["code"]
                child.ended.set()
