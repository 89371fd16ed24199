"""`thinkledger copy`: a whole store moved between a file and a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from worker import cli_context

if TYPE_CHECKING:
    from app.keeping.copying import Copied


def register(app: typer.Typer) -> None:
    app.command("copy", help=HELP)(copy)


HELP = """Move the whole store SRC to DST, a new file or an empty database; both may be SQLite or PostgreSQL.

Refused while workers run on SRC, which is only read. Killed, the same command goes on. At the end every column of
every table is compared; before that no command uses DST. --db is not looked at.
"""


def copy(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="The store: a path or postgresql://...", show_default=False)
    ],
    target: Annotated[str, typer.Argument(metavar="DST", help="A new file, or an empty database.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with the hash of each column.")] = False,
) -> None:
    """Copy; exit 4 while somebody works there or where DST holds something else, 8 where the two differ."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.keeping.copying import copy as move
        from worker.bar import shown

        with shown(settings, "copy") as show:
            done = await move(source, target, show)
        _show(done, as_json=as_json)

    cli_context.run(command)


def _show(done: Copied, *, as_json: bool) -> None:
    if as_json:
        facts = {"source": done.source, "target": done.target, "resumed": done.moved.resumed, "epoch": done.epoch}
        tables = {
            name: {"rows": rows, "sha256": dict(done.moved.sha256[name])} for name, rows in done.moved.rows.items()
        }
        cli_context.put_json(facts | {"released": done.released, "tables": tables})
        return
    rows = done.moved.rows
    cli_context.put(f"{done.target}: {done.rows:,} rows, equal to those of {done.source} in every column")
    cli_context.put(f"  {rows['job']:,} jobs, {rows['response']:,} responses; epoch {done.epoch}")
    if done.released:
        cli_context.put(f"  {done.released:,} jobs were leased and are ready again")
    cli_context.say(f"From now on use --db {done.target}; {done.source} is as it was, and is not needed any more.")
