"""`thinkledger datasets delete NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from app.model.exits import Exit
from worker import cli_context
from worker.asking_person import confirm


def delete(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset.", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Delete nothing; show what would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a dataset of which a copy is known; refused while anybody works at it."""
    from app.leasing.datasets import dataset_of
    from app.leasing.deleting import Doomed, copy_of, refuse_leased
    from app.leasing.deleting import delete as remove
    from app.store.store import open_store

    settings = cli_context.context(ctx)

    async def command() -> Exit:
        async with open_store(settings.db) as store:
            doomed = Doomed((await dataset_of(store, name)).id, name)
            await refuse_leased(store, doomed)
            copy = await copy_of(store, doomed)
            holds = "" if copy is None or copy.rows is None else f", which holds {copy.rows:,} rows of it"
            left = "no answer is lost" if copy is None else f"a copy is the {copy.kind} {copy.path}{holds}"
            if dry_run:
                cli_context.put(f"{name} would be deleted; {left}")
                return Exit.DONE
            confirm(settings, f"Delete dataset {name} for good ({left})?", yes=yes)
            jobs = await remove(store, doomed)
        cli_context.put(f"{name} is deleted: {jobs:,} jobs with all that was stored about them; {left}")
        return Exit.DONE

    cli_context.run(command)
