"""A simulator as a process of its own, for the tests that ask one over a real socket."""

import http.client
import json
import os
import signal
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any, Self

from tests.support import forks
from tests.support.forks import ROOT, Forked

PATIENCE_SECONDS = 30.0  # how long a fact may take on a machine with other work; no test passes or fails by it


class Simulator:
    """`with Simulator("--persona", "sglang") as simulator:` runs one on a free port.

    Its methods block. In an event loop that also runs what is tested, call them with `asyncio.to_thread`.
    The truth of an answer is `worker.simulator.answers.answer_of(prompt)`, given the same `--answer-bytes`.
    """

    def __init__(self, *arguments: str, port: int = 0) -> None:
        self.arguments = arguments
        self.port = port
        self._process: Forked | None = None
        self._said: IO[str]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """The root of the server; requests go to `url + "/v1/chat/completions"`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client is given."""
        return self.url + "/v1"

    @property
    def process(self) -> Forked:
        """The running process."""
        assert self._process is not None, "not started"
        return self._process

    def start(self) -> None:
        """Start it, on the port it had before if it had one, and return when it listens."""
        assert self._process is None, "already started"
        command = ["--port", str(self.port), *self.arguments]
        ours, theirs = os.pipe()
        self._said = os.fdopen(ours, encoding="utf-8")
        self._process = forks.start(command, ROOT, stdout=theirs, stderr=2, entry="worker.simulator.__main__:main")
        os.close(theirs)
        line = self._said.readline()
        if not line.startswith("simulator listening on "):
            self.kill()
            raise RuntimeError(f"the simulator did not start: {' '.join(command)}")
        self.port = int(line.rpartition(":")[2])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it in an orderly way; its exit status."""
        self.process.send_signal(number)
        return self._reap()

    def kill(self) -> None:
        """End it at once, as a crash does; the port stays the same for a later start."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def restart(self) -> None:
        """Crash and come back under the same address, with all counters at 0."""
        self.kill()
        self.start()

    def stats(self, prompts: bool = False) -> dict[str, Any]:
        """GET /simulator/stats."""
        return self.call("GET", "/simulator/stats" + ("?prompts=1" if prompts else ""))

    def play(self, persona: str | None = None, **changes: object) -> dict[str, Any]:
        """Change what is played: persona, faults (a list), latency, slots, answer_bytes. Fault counts begin anew."""
        if persona is not None:
            changes["persona"] = persona
        return self.call("POST", "/simulator/play", changes)

    def outage(self, seconds: float) -> None:
        """Be away for so long: connections are cut, new ones refused; counts are kept."""
        self.call("POST", "/simulator/outage", {"seconds": seconds})

    def reset(self) -> dict[str, Any]:
        """Behave and count as if just started."""
        return self.call("POST", "/simulator/reset", {})

    def wait_until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask for the counters until something holds; the counters of that moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds(stats := self.stats()):
            if time.monotonic() > deadline:
                raise AssertionError(f"did not come true: {stats}")
            time.sleep(0.01)
        return stats

    def call(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        """One request of the control routes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"content-type": "application/json", "connection": "close"})
            response = connection.getresponse()
            value: dict[str, Any] = json.loads(response.read())
            if response.status != 200:
                raise ValueError(value.get("message", value))
            return value
        finally:
            connection.close()

    def _reap(self) -> int:
        process, self._process = self.process, None
        status = process.wait(PATIENCE_SECONDS)
        self._said.close()
        return status
