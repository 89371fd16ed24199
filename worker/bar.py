"""Progress of a command over known work: a bar for a person, a line a minute for a log, nothing when quiet."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from worker import cli_context

EVERY_S = 60.0
Show = Callable[[int, int], None]  # how far, of how much


@contextmanager
def shown(settings: cli_context.Globals, title: str) -> Iterator[Show]:
    """Something to tell the progress to."""
    if settings.live_progress:
        with _bar(title) as show:
            yield show
    else:
        yield _minutes(title, quiet=not settings.progress or settings.verbosity < 0)


def halves(show: Show) -> tuple[Show, Show]:
    """Two pieces of work, one after the other, as one of a hundred parts."""

    def at(start: int) -> Show:
        return lambda done, total: show(start + (50 * done // total if total else 50), 100)

    return at(0), at(50)


@contextmanager
def _bar(title: str) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _minutes(title: str, *, quiet: bool) -> Show:
    said_s = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal said_s
        if not quiet and time.monotonic() - said_s >= EVERY_S:
            said_s = time.monotonic()
            cli_context.say(f"{title}: {done:,}/{total:,}")

    return show
