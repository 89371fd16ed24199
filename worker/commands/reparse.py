"""`thinkledger reparse`: new readings of stored bodies; no server is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from app.leasing.datasets import DatasetSettings
    from app.responses.transitions import Report
    from app.store.store import Store


def register(app: typer.Typer) -> None:
    app.command("reparse", help=HELP)(reparse)


HELP = """Read stored bodies anew with the present parser and show how verdicts change. Asks no server.

Without --apply nothing is written. With it, answers that would be worse keep their old reading (exit 6), unless
--allow-regression is given.
"""


def reparse(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The dataset.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dataset of the store.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Write the new readings.")] = False,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit 7, and write nothing, if any answer would be worse.")
    ] = False,
    allow_regression: Annotated[
        bool, typer.Option("--allow-regression", help="With --apply: write also what is worse than before.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show, and with --apply write, what the present parser reads differently."""
    if every == (name is not None):
        raise UsageError("Name one dataset, or give --all.")
    if fail_on_regression and allow_regression:
        raise UsageError("--fail-on-regression and --allow-regression contradict each other.")
    settings = cli_context.context(ctx)
    ask = _Ask(apply=apply, fail=fail_on_regression, allow=allow_regression)
    cli_context.run(lambda: _run(settings, name, ask, as_json=as_json))


@dataclass(frozen=True, slots=True)
class _Ask:
    """What the flags ask for."""

    apply: bool
    fail: bool  # on any regression
    allow: bool  # regressions


async def _run(settings: cli_context.Globals, name: str | None, ask: _Ask, *, as_json: bool) -> Exit:
    from app.leasing.datasets import all_datasets, dataset_of
    from app.responses.versions import refuse_newer
    from app.store.store import open_store

    async with open_store(settings.db) as store:
        datasets = await all_datasets(store) if name is None else [await dataset_of(store, name)]
        if ask.apply:
            await refuse_newer(store)
        reports: list[Report] = []
        if ask.fail or not ask.apply:
            reports = [await _one(settings, store, dataset, ask, apply=False) for dataset in datasets]
        stopped = ask.fail and any(report.regressions for report in reports)
        if ask.apply and not stopped:
            reports = [await _one(settings, store, dataset, ask, apply=True) for dataset in datasets]
    _show(reports, as_json=as_json)
    if stopped:
        return Exit.GATE
    return Exit.INCOMPLETE if any(report.kept for report in reports) else Exit.DONE


async def _one(
    settings: cli_context.Globals, store: Store, dataset: DatasetSettings, ask: _Ask, *, apply: bool
) -> Report:
    from app.responses.rereading import Reparse, reparse
    from app.responses.rewriting import End, note_end
    from worker.bar import shown

    with shown(settings, f"reparse {dataset.name}") as show:
        report = await reparse(store, Reparse(dataset, apply, ask.allow), show)
    if apply and report.changed:
        await store.write(note_end, End(dataset.id, report))
    return report


def _show(reports: list[Report], *, as_json: bool) -> None:
    from app.capture import PARSER_VERSION
    from app.responses.transitions import report_json

    if as_json:
        applied = any(report.applied for report in reports)
        datasets = [{"name": one.name} | report_json(one) for one in reports]
        cli_context.put_json({"parser_version": PARSER_VERSION, "applied": applied, "datasets": datasets})
        return
    for report in reports:
        for line in _lines(report, PARSER_VERSION):
            cli_context.put(line)


def _lines(report: Report, version: int) -> Iterator[str]:
    """The transition matrix of one dataset, the largest numbers first."""
    written = "" if report.applied else "; nothing is written without --apply"
    yield f"{report.name}: {report.bodies:,} stored bodies read by parser {version}{written}"
    yield f"  unchanged  {report.unchanged:,}"
    for transition, count in report.transitions.most_common():
        marks = transition.remarks + (["REGRESSION"] if transition.regression else [])
        shown = f"  ({', '.join(marks)})" if marks else ""
        yield f"  {transition.before} -> {transition.after}  {count:,}{shown}"
    for flag in report.loss_flags:
        yield f"  {flag}: {report.flagged[flag]:,} more, {report.cleared[flag]:,} fewer"
    if report.finished:
        yield f"  {report.finished:,} jobs without an answer {'are' if report.applied else 'would be'} done by these"
    if report.reopened:
        yield f"  {report.reopened:,} conversations that ended early {'go' if report.applied else 'would go'} on"
    if report.kept:
        yield f"  {report.kept:,} regressions were not written; their old readings stand (--allow-regression)"
    if report.overtaken:
        yield f"  {report.overtaken:,} were read anew by somebody else meanwhile"
