"""`thinkledger cancel NAME`: take jobs out by filter."""

from __future__ import annotations

from typing import Annotated

import click
import typer

from app.model.errors import Refused
from app.model.exits import Exit
from app.model.lease import Cause
from app.model.states import Event, JobState, sources
from worker import cli_context
from worker.asking_person import confirm

STATES = [str(state) for state in sources(Event.CANCEL)]
CAUSES = [str(cause) for cause in Cause]
HELP = """Take jobs out, chosen by state or cause. What is done stays done; a worker's later answer is kept aside.
"""


def register(app: typer.Typer) -> None:
    app.command("cancel", help=HELP)(cancel)


def cancel(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset.", show_default=False)],
    state: Annotated[
        list[str] | None, typer.Option(click_type=click.Choice(STATES), help="Jobs in this state; repeat for several.")
    ] = None,
    cause: Annotated[
        list[str] | None,
        typer.Option(click_type=click.Choice(CAUSES), help="Jobs whose latest failure has this cause; repeat."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every job that is not done.")] = False,
    expect: Annotated[int | None, typer.Option(min=0, help="Change nothing unless exactly so many are chosen.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show how many would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Cancel the chosen jobs."""
    from app.leasing.cancelling import Selection, select
    from app.leasing.cancelling import cancel as take_out
    from app.leasing.datasets import dataset_of
    from app.store.store import open_store

    settings = cli_context.context(ctx)
    selection = Selection(tuple(map(JobState, state or ())), tuple(map(Cause, cause or ())), everything)

    async def command() -> Exit:
        async with open_store(settings.db) as store:
            dataset = await dataset_of(store, name)
            selected = await select(store, dataset.id, selection)
            if expect is not None and selected.jobs != expect:
                raise Refused(f"--expect {expect:,}: {selected.jobs:,} jobs are chosen. Nothing was changed.")
            moved = 0
            if selected.jobs and not dry_run:
                confirm(settings, f"{name}: cancel {selected.jobs:,} jobs?", yes=yes)
                moved = await take_out(store, dataset.id, selection, selected)
        kinds = [{"state": one.state, "why": one.why, "n": n} for one, n in selected.kinds.most_common()]
        if as_json:
            facts = {"dataset": name, "chosen": selected.jobs, "cancelled": moved, "kinds": kinds, "dry_run": dry_run}
            cli_context.put_json(facts)
        else:
            done = f"{selected.jobs:,} jobs would be cancelled" if dry_run else f"{moved:,} jobs are cancelled"
            cli_context.put(f"{name}: {done}")
            for kind in kinds:
                why = f" {kind['why']}" if kind["why"] else ""
                cli_context.put(f"  {kind['state']}{why}  {kind['n']:,}")
        return Exit.DONE if dry_run or moved == selected.jobs else Exit.INCOMPLETE

    cli_context.run(command)
