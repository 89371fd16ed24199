"""Commands of the product as processes: forked by a nursery in milliseconds, and handled like those of `subprocess`.

`start` and `run` are what tests use. A test that is about the interpreter's own start, a terminal or another launcher
uses `subprocess` and `COMMAND`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "import sys; from worker.cli import call; sys.exit(call(sys.argv[1:]))")
ENTRY = "worker.cli:call"
BIRTH_SECONDS = 60.0  # the first waits for the nursery's imports

File = IO[bytes] | IO[str] | int


def environment() -> dict[str, str]:
    """Ours without settings of the product, with the checkout importable from any folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("THINKLEDGER_")}
    return kept | {"PYTHONPATH": str(ROOT)}


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


def start(
    arguments: Sequence[str],
    folder: Path,
    *,
    stdin: File = subprocess.DEVNULL,
    stdout: File,
    stderr: File,
    surroundings: Mapping[str, str] | None = None,
    entry: str = ENTRY,
) -> Forked:
    """A function of command line arguments that gives an exit code, as a process; it runs when this returns."""
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        streams = [_descriptor(file, nothing) for file in (stdin, stdout, stderr)]
        request = {"entry": entry, "arguments": list(arguments), "folder": str(folder)}
        told = environment() if surroundings is None else dict(surroundings)
        network = str(Path("/proc/thread-self/ns/net").readlink())
        return _nursery(network).bear(request | {"environment": told}, streams)


def run(
    arguments: Sequence[str],
    folder: Path,
    *,
    stdin: bytes | None = None,
    surroundings: Mapping[str, str] | None = None,
    entry: str = ENTRY,
) -> subprocess.CompletedProcess[bytes]:
    """The same to its end: exit code and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _piped(stdin) as given:
            child = start(
                arguments, folder, stdin=given, stdout=out, stderr=err, surroundings=surroundings, entry=entry
            )
        code = child.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def _descriptor(file: File, nothing: IO[bytes]) -> int:
    if file == subprocess.DEVNULL:
        return nothing.fileno()
    return file if isinstance(file, int) else file.fileno()


def _piped(data: bytes | None) -> IO[bytes]:
    """What a child reads at the end of a pipe, as programs are given what others write."""
    if not data:
        return Path(os.devnull).open("rb")
    ours, theirs = os.pipe()

    def feed() -> None:
        try:
            with os.fdopen(theirs, "wb", buffering=0) as pipe:
                pipe.write(data)
        except BrokenPipeError:
            return  # it read no further, as a command that refuses its arguments

    threading.Thread(target=feed, daemon=True).start()
    return os.fdopen(ours, "rb")


class _Nursery:
    """Our side of the nursery's socket."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.nursery", str(theirs.fileno())],
                cwd=ROOT, env=environment(), pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        self._children: dict[int, Forked] = {}  # by the number of their request
        self._living: dict[int, Forked] = {}  # by pid
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def bear(self, request: Mapping[str, Any], streams: list[int]) -> Forked:
        child = Forked()
        with self._lock:
            number = len(self._children)
            self._children[number] = child
            message = json.dumps({**request, "number": number}).encode()
            socket.send_fds(self._socket, [message], streams)
        assert child.born.wait(BIRTH_SECONDS), "the nursery bore no child"
        return child

    def _listen(self) -> None:
        while message := self._socket.recv(4096):
            said: dict[str, int] = json.loads(message)
            if "number" in said:
                child = self._children[said["number"]]
                child.pid = said["pid"]
                self._living[child.pid] = child
                child.born.set()
            else:
                child = self._living.pop(said["pid"])
                child.returncode = said["code"]
                child.ended.set()


@cache
def _nursery(network: str) -> _Nursery:
    """One a network for all tests of this process; it ends with us."""
    return _Nursery()
