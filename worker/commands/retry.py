"""`thinkledger retry NAME`: new attempts for jobs by filter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click
import typer

from app.model.errors import Refused
from app.model.exits import Exit
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import Event, JobState, sources
from app.model.verdicts import Verdict
from app.progress.display import one_line
from worker import cli_context

if TYPE_CHECKING:
    from app.leasing.holds import StandingHold
    from app.leasing.retry import Selected, Selection

STATES = [str(state) for state in sources(Event.RETRY)]
VERDICTS = [str(verdict) for verdict in Verdict]
CAUSES = [str(cause) for cause in Cause]
FLAGS = [str(flag) for flag in LossFlag]


def register(app: typer.Typer) -> None:
    app.command("retry", help=HELP)(retry)


HELP = """Ask jobs again, chosen by state, verdict, cause or loss flag. Earlier answers stand until newer ones come.
"""


def retry(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset.", show_default=False)],
    state: Annotated[
        list[str] | None, typer.Option(click_type=click.Choice(STATES), help="Jobs in this state; repeat for several.")
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(click_type=click.Choice(VERDICTS), help="Done jobs with this verdict; repeat for several."),
    ] = None,
    cause: Annotated[
        list[str] | None,
        typer.Option(click_type=click.Choice(CAUSES), help="Failed jobs with this cause; repeat for several."),
    ] = None,
    flag: Annotated[
        str | None,
        typer.Option(click_type=click.Choice(FLAGS), help="Done jobs whose answer has this hint at lost text."),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Token limit of these jobs from now on.")] = None,
    expect: Annotated[int | None, typer.Option(min=0, help="Change nothing unless exactly so many are chosen.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show how many would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make the chosen jobs ready again."""
    from app.leasing.retry import Selection

    selection = Selection(
        tuple(map(JobState, state or ())),
        tuple(map(Verdict, verdict or ())),
        tuple(map(Cause, cause or ())),
        None if flag is None else LossFlag(flag),
    )
    settings = cli_context.context(ctx)
    run = _Run(settings, name, selection, max_tokens, expect, yes, as_json)
    cli_context.run(run.dry if dry_run else run.real)


@dataclass(frozen=True, slots=True)
class _Run:
    """One call of the command."""

    settings: cli_context.Globals
    name: str
    selection: Selection
    max_tokens: int | None
    expect: int | None
    yes: bool
    as_json: bool

    async def dry(self) -> Exit:
        """Show what would be asked again."""
        from app.leasing.datasets import dataset_of
        from app.leasing.retry import select
        from app.store.store import open_store

        async with open_store(self.settings.db) as store:
            dataset = await dataset_of(store, self.name)
            selected = await select(store, dataset.id, self.selection)
        self._show(selected, None)
        self._check(selected)
        return Exit.DONE

    async def real(self) -> Exit:
        """Ask again, after a person's word."""
        from app.leasing.datasets import dataset_of
        from app.leasing.holds import standing
        from app.leasing.retry import Retry, retry, select
        from app.store.store import open_store

        async with open_store(self.settings.db) as store:
            dataset = await dataset_of(store, self.name)
            selected = await select(store, dataset.id, self.selection)
            self._check(selected)
            if selected.jobs:
                self._confirm(selected)
            moved = await retry(store, Retry(dataset.id, self.selection, self.max_tokens), selected)
            holds = [hold for hold in await standing(store) if hold.name == self.name]
        self._show(selected, moved)
        if holds and moved:
            self._tell_of(holds)
        return Exit.DONE if moved == selected.jobs else Exit.INCOMPLETE

    def _tell_of(self, holds: list[StandingHold]) -> None:
        why = "; ".join(f"{hold.kind}: {one_line(hold.reason)}" for hold in holds)
        cli_context.say(
            f"{self.name} is held ({why}). Nothing of it is asked before `thinkledger datasets resume {self.name}`."
        )

    def _check(self, selected: Selected) -> None:
        if self.expect is not None and selected.jobs != self.expect:
            raise Refused(f"--expect {self.expect:,}: {selected.jobs:,} jobs are chosen. Nothing was changed.")

    def _confirm(self, selected: Selected) -> None:
        if self.yes:
            return
        question = f"{self.name}: ask {selected.jobs:,} jobs again?"
        if not (self.settings.ask and sys.stdin.isatty()):
            raise Refused(f"{question} Say so with --yes; --dry-run shows which. Nothing was changed.")
        for line in _kinds(selected):
            cli_context.say(line)
        if not typer.confirm(question, err=True):
            raise Refused("Nothing was changed.")

    def _show(self, selected: Selected, moved: int | None) -> None:
        if self.as_json:
            kinds = [{"state": one.state, "why": one.why, "n": n} for one, n in selected.kinds.most_common()]
            facts = {"dataset": self.name, "chosen": selected.jobs, "retried": moved or 0, "kinds": kinds}
            cli_context.put_json(facts | {"max_tokens": self.max_tokens, "dry_run": moved is None})
            return
        done = f"{selected.jobs:,} jobs would be asked again" if moved is None else f"{moved:,} jobs are ready again"
        cli_context.put(f"{self.name}: {done}")
        for line in _kinds(selected):
            cli_context.put(line)
        if moved is not None and moved != selected.jobs:
            cli_context.say(f"{selected.jobs - moved:,} of those chosen had moved meanwhile and were left alone.")


def _kinds(selected: Selected) -> Iterator[str]:
    """The chosen jobs by kind, the largest numbers first."""
    for kind, count in selected.kinds.most_common():
        yield f"  {kind.state}{f' {kind.why}' if kind.why else ''}  {count:,}"
