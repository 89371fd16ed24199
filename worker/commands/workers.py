"""`thinkledger worker list` and `worker drain`: the page of workers in text, and the word that lets one go home."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.exits import Exit
from worker import cli_context, layout

if TYPE_CHECKING:
    from app.progress.workers import WorkerLine, WorkersPage

COLUMNS = (
    "id", "worker", "state", "slots used", "rate", "failed 1 h", "oldest lease", "heartbeat", "started", "where",
    "version",
)  # fmt: skip
NUMBERS = frozenset({"id", "slots used", "rate", "failed 1 h"})

LIST_HELP = """List the workers: who runs, what they hold, how fast they are; then the latest that ended.
"""
DRAIN_HELP = """Ask a worker to claim nothing more, and to end when its open answers have come.

ID is the number that `thinkledger worker list` shows. The worker hears it within two seconds and exits 0.
"""


def register(group: typer.Typer) -> None:
    group.command("list", help=LIST_HELP)(list_workers)
    group.command("drain", help=DRAIN_HELP)(drain)


def list_workers(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """All open workers and the latest closed ones."""
    settings = cli_context.context(ctx)
    cli_context.run(lambda: _list(settings.db, as_json=as_json))


async def _list(db: str, *, as_json: bool) -> Exit:
    from app.progress.workers import workers_page
    from app.store.store import open_store

    async with open_store(db) as store:
        found = await workers_page(store)
    if as_json:
        from app.progress.workers_json import workers_json

        cli_context.put_json({"as_of": found.as_of_ms, "seq": found.seq, "data": workers_json(found)})
    else:
        cli_context.put("\n".join(lines(found, layout.columns())))
    return Exit.DONE


def lines(found: WorkersPage, width: int | None) -> Iterator[str]:
    """A table where it fits, else each worker as facts; then how many there are, and what they ask."""
    from app.progress import wording
    from app.progress.display import one_line

    rows = [_cells(one, found.as_of_ms) for one in found.workers]
    table = list(layout.table(COLUMNS, rows, NUMBERS)) if rows else []
    if width is None or all(len(line) <= width for line in table):
        yield from table
    else:
        for row in rows:
            yield from layout.facts(_named(row), width, "", "  ")
    yield from layout.facts([wording.workers(found), f"{found.leases:,} leases"], width, "workers  ", "  ")
    yield from layout.facts([wording.endpoints(found.asked)], width, "servers  ", "  ")
    for one in found.asked.asked:
        yield from layout.facts([one_line(one.base_url), one_line(wording.endpoint(one))], width, "  ", "    ")


def _cells(one: WorkerLine, now_ms: int) -> tuple[str, ...]:
    from app.progress.display import one_line
    from app.progress.worker_words import worker_words

    said = worker_words(one, now_ms)
    return (
        str(one.id), one_line(one.name), said.state, said.slots, said.rate, said.failed, said.oldest, said.heartbeat,
        said.started, one_line(said.where), one_line(one.version),
    )  # fmt: skip


def _named(row: Sequence[str]) -> list[str]:
    """The same without columns: what a cell means stands beside it."""
    bare = {"worker", "state", "where"}
    return [cell if name in bare else f"{name} {cell}" for name, cell in zip(COLUMNS, row, strict=True)]


def drain(ctx: typer.Context, worker: Annotated[int, typer.Argument(metavar="ID", help="Its number.", min=1)]) -> None:
    """The same as the button on the page of workers."""
    settings = cli_context.context(ctx)

    async def command() -> Exit:
        from app.leasing.workers import drain as drain_worker
        from app.model.ids import WorkerId
        from app.store.store import open_store

        async with open_store(settings.db) as store:
            heard = await drain_worker(store, WorkerId(worker))
        cli_context.say(
            f"Worker {worker} claims nothing more, and ends when its open answers have come."
            if heard
            else f"Worker {worker} has ended already."
        )
        return Exit.DONE

    cli_context.run(command)
