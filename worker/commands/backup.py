"""`thinkledger backup`: a verified copy of the store, beside busy workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worker import cli_context

if TYPE_CHECKING:
    from app.keeping.backup import Backup


def register(app: typer.Typer) -> None:
    app.command("backup", help=HELP)(backup)


HELP = """Copy the store while workers go on, verify the copy, and only then give it its name.

TARGET is a file or a folder; without it the copy goes to STORE.backups/ with the time in its name.
"""


def backup(
    ctx: typer.Context,
    target: Annotated[Path | None, typer.Argument(metavar="[TARGET]", help="A new file, or a folder.")] = None,
    keep: Annotated[
        int | None, typer.Option(min=1, help="Afterwards remove the oldest in that folder, so that so many are left.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make one backup; exit 4 where TARGET exists, 8 where the copy is not sound, 9 where there is no room."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.keeping.backup import Shown, sweep, target_of
        from app.keeping.backup import backup as make
        from app.store.place import locate, need_file
        from app.store.store import open_store
        from worker.bar import halves, shown

        need_file(locate(settings.db), "backup", "Use `pg_dump -Fc`, which may run while workers do.")
        async with open_store(settings.db) as store:
            path = target_of(store.place, target, store.now_ms())
            with shown(settings, "backup") as show:
                made = await make(store, path, Shown(*halves(show)))
            _show(made, as_json=as_json)
            if keep is not None:
                sweep(store.place, made.path, keep, lambda old: cli_context.say(f"removed the older backup {old}"))

    cli_context.run(command)


def _show(made: Backup, *, as_json: bool) -> None:
    from app.progress import wording

    if as_json:
        cli_context.put_json(
            {
                "path": str(made.path), "bytes": made.size, "sha256": made.sha256, "seq": made.seq, "jobs": made.jobs,
                "responses": made.responses,
            }
        )  # fmt: skip
        return
    cli_context.put(f"{made.path}\n  size    {wording.size(made.size)} ({made.size:,} bytes)\n  sha256  {made.sha256}")
    cli_context.put(f"  as of   seq {made.seq:,}: {made.jobs:,} jobs, {made.responses:,} responses, verified")
