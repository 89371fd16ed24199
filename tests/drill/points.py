"""Where a process can be killed: named boundaries of functions, patched from outside.

A point is `NAME.PHASE`. An operation of the store has the phases before (its transaction is open), inside (its rows are
written and not committed), commit (a moment around COMMIT itself) and after (committed, and nobody told yet). A plain
function has before and after; a request has during as well, some milliseconds after it was sent.
"""

import inspect
import os
import random
import signal
import threading
import time
from dataclasses import dataclass
from typing import Any

from app.store.beside import beside_others, may_be_beside
from tests.drill import patching

WRITER, SERVER_WRITER = "app.store.writer:Writer._transaction", "app.store.postgres.writer:ServerWriter._transaction"
COMMIT_S = 0.004  # how far from the end of an operation a kill around its COMMIT may fall
SENT_S = 0.03

OPERATIONS = {
    "claim": "app.leasing.claim:claim",
    "keep": "app.responses.keep:keep",
    "settle": "app.responses.read:settle",
    "fail": "app.leasing.settle:fail",
    "release": "app.leasing.release:release",
    "rescue": "app.leasing.rescue:rescue",
    "register": "app.leasing.workers:register",
    "renew": "app.leasing.workers:renew",
    "leave": "app.leasing.workers:leave",
    "see": "app.responses.endpoints:see",
    "add": "app.intake.adding:add_batches",
    "finish": "app.intake.finishing:finish",
    "rewrite": "app.responses.rewriting:rewrite",
    "note_end": "app.responses.rewriting:note_end",
}
CALLS = {
    "lock": "app.leasing.locks:take",
    "prompts": "app.leasing.claim:prompts_of",
    "history": "app.leasing.conversations:conversations_at",
    "ask": "worker.endpoint:Endpoint.ask",
    "pack": "app.store.codec:pack",
    "read": "app.capture:read_body",
    "load": "app.responses.unread:load_bodies",
    "upgrade": "app.store.migrations:upgrade",
    "page": "app.export.pages:_page",
    "seal": "app.export.target:Part.seal",
    "place": "app.export.target:Part.put_in_place",
    "manifest": "app.export.target:write_durably",
}
OPERATION_PHASES = ("before", "inside", "commit", "after")


def points() -> list[str]:
    """Every point there is."""
    of_operations = [f"{name}.{phase}" for name in OPERATIONS for phase in OPERATION_PHASES]
    return [*of_operations, *(f"{name}.{phase}" for name in CALLS for phase in ("before", "after")), "ask.during"]


@dataclass(slots=True)
class Fuse:
    """Kills this process at its n-th pass."""

    left: int
    chance: random.Random

    def passed(self) -> None:
        """One pass."""
        if self._burns():
            os.kill(os.getpid(), signal.SIGKILL)

    def passing(self, within_s: float) -> None:
        """One pass whose kill comes a moment later, from another thread, whatever is done then."""
        if self._burns():
            threading.Thread(target=_kill_after, args=(self.chance.uniform(0, within_s),), daemon=True).start()

    def _burns(self) -> bool:
        self.left -= 1
        return self.left == 0


def _kill_after(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str, nth: int, *, on_server: bool = False) -> None:
    """Let this process die at the n-th pass of `point`."""
    name, _, phase = point.partition(".")
    fuse = Fuse(nth, random.Random(f"{point}:{nth}"))
    if name in OPERATIONS and phase in OPERATION_PHASES:
        _arm_operation(OPERATIONS[name], phase, fuse, SERVER_WRITER if on_server else WRITER)
    elif name in CALLS and point in points():
        patching.wrap(CALLS[name], lambda original: _armed(original, phase, fuse))
    else:
        raise ValueError(f"unknown point {point!r}; known: {', '.join(points())}")


def _arm_operation(target: str, phase: str, fuse: Fuse, writer: str) -> None:
    original = patching.find(target)

    async def armed(tx: Any, items: Any) -> Any:
        if not items:
            return await original(tx, items)
        if phase == "before":
            fuse.passed()
        done = await original(tx, items)
        if phase == "inside":
            fuse.passed()
        if phase == "commit":
            fuse.passing(COMMIT_S)
        return done

    if may_be_beside(original):
        beside_others(armed)
    patching.put(target, armed)
    if phase == "after":
        patching.wrap(writer, lambda commit: _armed_commit(commit, armed, fuse))


def _armed_commit(commit: Any, operation: Any, fuse: Fuse) -> Any:
    async def transaction(writer: Any, group: Any) -> None:
        await commit(writer, group)
        if any(request.operation is operation for request in group):
            fuse.passed()

    return transaction


def _armed(original: Any, phase: str, fuse: Fuse) -> Any:
    def begin() -> None:
        if phase == "before":
            fuse.passed()
        if phase == "during":
            fuse.passing(SENT_S)

    def end() -> None:
        if phase == "after":
            fuse.passed()

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        begin()
        done = await original(*args, **kwargs)
        end()
        return done

    def called(*args: Any, **kwargs: Any) -> Any:
        begin()
        done = original(*args, **kwargs)
        end()
        return done

    return awaited if inspect.iscoroutinefunction(original) else called
