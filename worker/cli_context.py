"""What every command shares: the global settings, and how its errors become exit codes."""

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.model.errors import ThinkledgerError
from app.model.exits import Exit

if TYPE_CHECKING:
    from worker.log import Log

DEFAULT_DB = "./thinkledger.db"


@dataclass(frozen=True, slots=True)
class Globals:
    """The settings that are accepted before and after every verb."""

    db: str = DEFAULT_DB
    verbosity: int = 0  # -1 quiet, 1 and more: talkative
    log_format: str = "text"
    log_file: Path | None = None
    progress: bool = True
    ask: bool = True

    @property
    def live_progress(self) -> bool:
        """Whether a bar may be drawn: only for a person at a terminal."""
        return self.progress and self.verbosity >= 0 and sys.stderr.isatty()


def log_of(settings: Globals, *secrets: str | None, quiet: bool | None = None) -> "Log":
    """The log of a long command; UsageError where its file cannot be written. `quiet` says otherwise than --quiet."""
    from worker.log import Log, to_stderr
    from worker.log_file import open_log

    write = to_stderr if settings.log_file is None else open_log(settings.log_file)
    hushed = settings.verbosity < 0 if quiet is None else quiet
    return Log(settings.log_format == "json", hushed, tuple(one for one in secrets if one), write)


def context(ctx: typer.Context) -> Globals:
    """The global settings of this call."""
    found = ctx.find_root().obj
    assert isinstance(found, Globals)
    return found


def run(command: Callable[[], Awaitable[Exit | None]]) -> None:
    """Run an async command to its end and leave with its exit code."""
    import anyio

    try:
        code = anyio.run(command, backend_options=loop_options())
    except BaseExceptionGroup as group:
        raise only_error(group) from None
    raise typer.Exit(int(code or Exit.DONE))


def loop_options() -> dict[str, Any]:
    """uvloop where it is installed: half the event loop's CPU a request."""
    try:
        import uvloop
    except ImportError:  # Windows has none
        return {}
    return {"loop_factory": uvloop.new_event_loop}


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that a task group wraps: ours if there is one among several, else the first that is no group."""
    leaves = list(_leaves(group))
    ours = [leaf for leaf in leaves if isinstance(leaf, ThinkledgerError)]
    return (ours or leaves)[0]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]


def say(text: str = "") -> None:
    """Talk goes to stderr."""
    sys.stderr.write(text + "\n")


def put(text: str) -> None:
    """The result goes to stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def put_json(value: dict[str, Any]) -> None:
    """One stable JSON object on stdout."""
    put(json.dumps({"schema": 1} | value, ensure_ascii=False))


def fail(error: ThinkledgerError) -> int:
    """Show what happened and what to do; the exit code it means."""
    say(f"error: {error}")
    return int(error.exit)


def quiet_pipe() -> int:
    """The reader of our output went away (`| head`): end without a word, as other tools do."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):  # what is still in their buffers must not be a complaint at the exit
        os.dup2(nothing, stream.fileno())
    return 128 + signal.SIGPIPE
