"""`thinkledger restore`: a backup takes the place of the store, which is kept beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from worker import cli_context

if TYPE_CHECKING:
    from app.keeping.restore import Restored


def register(app: typer.Typer) -> None:
    app.command("restore", help=HELP)(restore)


HELP = """Put a verified copy of BACKUP in the place of the store that --db names; what was there is kept beside it.

Refused while a worker or a server runs on that store. Jobs that were leased when the backup was made are ready again.
"""


def restore(
    ctx: typer.Context,
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="A file that `backup` made.", show_default=False)],
    quick: Annotated[bool, typer.Option("--quick", help="Hash 500 bodies of the backup, not every one.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Restore; exit 4 while somebody works there, 8 where the backup is not sound (nothing is replaced then)."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.keeping.backup import Shown
        from app.keeping.restore import restore as put_back
        from app.store.place import locate, need_file
        from worker.bar import halves, shown

        need_file(
            locate(settings.db), "restore", "Use pg_restore into an empty database, then `SELECT adopt_dump()` there."
        )
        with shown(settings, "restore") as show:
            done = await put_back(backup, settings.db, Shown(*halves(show)), full=not quick)
        _show(done, as_json=as_json)

    cli_context.run(command)


def _show(done: Restored, *, as_json: bool) -> None:
    if as_json:
        replaced = None if done.replaced is None else str(done.replaced)
        facts = {"path": str(done.path), "replaced": replaced, "epoch": done.epoch, "seq": done.seq}
        cli_context.put_json(facts | {"jobs": done.jobs, "released": done.released})
        return
    cli_context.put(f"{done.path}: restored as of seq {done.seq:,}, {done.jobs:,} jobs")
    cli_context.put(f"  {done.released:,} jobs were leased then and are ready again; epoch {done.epoch}")
    if done.replaced is not None:
        cli_context.put(f"  the store that was there is kept as {done.replaced}")
