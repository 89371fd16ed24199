"""`thinkledger import NAME FILE`: the rows of a file as samples of a dataset."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context
from worker import dataset_options as options
from worker.option_values import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.intake.request import ImportReport, ImportRequest, Progress

_SHOWN_SAMPLES = 3


def register(app: typer.Typer) -> None:
    app.command("import", help="Add the rows of a file to a dataset; a repeated import adds nothing.")(import_)


def _choice(*values: str) -> click.Choice[str]:
    return click.Choice(values)


def import_(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The dataset; it is made where it is absent.", show_default=False)],
    file: Annotated[
        str,
        typer.Argument(
            help="Rows as .jsonl, .json, .csv, .tsv or .traj (plain, gzip or zstd) or .parquet; - is standard input.",
            show_default=False,
        ),
    ],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            click_type=_choice(*FORMATS),
            help="What a row looks like; auto tells by its keys, another name allows that format only.",
        ),
    ] = "auto",
    id_field: Annotated[str | None, typer.Option(metavar="KEY", help="Take the ids from this key only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Read this many rows, rejects included.")] = None,
    turns: options.Turns = None,
    drop_system: Annotated[
        bool, typer.Option("--drop-system", help="Leave out the system prompts of the file; old answers keep theirs.")
    ] = False,
    samples: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Answers a prompt, each with a seed of its own.  [1]")
    ] = None,
    model: options.Model = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    thinking: options.Thinking = None,
    profile: options.Profile = None,
    extra: options.Extra = None,
    rank: options.Rank = None,
    max_attempts: options.MaxAttempts = None,
    gate: options.Gate = None,
    min_capture: options.MinCapture = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Drop rows equal to an earlier row of the file.")] = False,
    on_duplicate: Annotated[
        str, typer.Option(click_type=_choice("skip", "error"), help="error: reject rows that are there already.")
    ] = "skip",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show what would be added.")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="With --dry-run: one line a row.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Add the rows of FILE to the dataset NAME. What is not taken goes to FILE.rejects.jsonl, with line and reason."""
    from app.intake.matching import Repeats
    from app.intake.normal import Turns
    from app.intake.request import ImportRequest
    from app.intake.rows import Reading

    if as_jsonl and not dry_run:
        raise UsageError("--jsonl shows rows, so it goes with --dry-run only. --json gives the counts of an import.")
    said = options.said(
        model=model, max_tokens=max_tokens, temperature=temperature, top_p=top_p, thinking=thinking, profile=profile,
        extra=extra, gate=gate, min_capture=min_capture, samples=samples,
    )  # fmt: skip
    request = ImportRequest(
        dataset=name,
        path=file,
        reading=Reading(format_, id_field, None if turns is None else Turns(turns), drop_system),
        repeats=Repeats(drop=dedupe, refuse=on_duplicate == "error"),
        limit=limit,
        said=said,
        max_attempts=max_attempts,
        rank=rank,
    )
    if dry_run:
        _dry_run(request, as_json=as_json, as_jsonl=as_jsonl)
    cli_context.run(lambda: _import(cli_context.context(ctx), request, as_json=as_json))


async def _import(settings: cli_context.Globals, request: ImportRequest, *, as_json: bool) -> Exit:
    from app.intake.dataset import check_name
    from app.intake.importing import check_file, import_file
    from app.intake.lines import look_at
    from app.store.store import open_store

    check_name(request.dataset)
    check_file(request.path)  # before a store is made for nothing
    look_at(request.path)
    async with open_store(settings.db, create=True) as store:
        with _shown(settings) as progress:
            report = await import_file(store, request, progress)
    _show(report, as_json=as_json)
    return Exit.INCOMPLETE if report.rejected or report.results.get("malformed") else Exit.DONE


def _dry_run(request: ImportRequest, *, as_json: bool, as_jsonl: bool) -> None:
    from app.intake.dataset import check_name
    from app.intake.dry_run import DryRun, to_json

    check_name(request.dataset)
    run = DryRun(request)
    shown = 0
    for fate in run.fates():
        if as_jsonl:
            sys.stdout.buffer.write(to_json(fate))
        elif not as_json and fate.dropped is None and shown < _SHOWN_SAMPLES:
            cli_context.put(to_json(fate).decode().rstrip())
            shown += 1
    report = run.report()
    if as_jsonl:
        sys.stdout.buffer.flush()
        cli_context.say(_summary(report, "would be added"))
    else:
        _show(report, as_json=as_json, added="would be added")
    raise typer.Exit(int(Exit.INCOMPLETE if report.rejected else Exit.DONE))


def _show(report: ImportReport, *, as_json: bool, added: str = "added") -> None:
    """The result: one object, or a few lines."""
    if as_json:
        facts = asdict(report)
        for file in ("rejects", "uncaptured", "unanswered"):
            facts[file] = None if facts[file] is None else str(facts[file])
        cli_context.put_json(facts)
        return
    cli_context.put(_summary(report, added))


def _summary(report: ImportReport, added: str) -> str:
    counts = (
        f"{report.rows:,} rows, {report.added:,} {added}, {report.present:,} there already, "
        f"{report.dropped:,} dropped, {report.rejected:,} rejected"
    )
    lines = [
        f"{report.dataset}: {counts}",
        *_counted("formats", report.formats),
        *_counted("notes", report.notes),
        *_counted("rejected", report.reasons),
        *_named(report),
    ]
    if report.conversations:
        lines.append(f"conversations: {report.conversations:,} with {report.turns:,} turns, a job each")
    if report.samples > 1:
        lines.append(f"{report.samples:,} answers a prompt, a job and a seed each")
    if report.repeated:
        lines.append(f"{report.repeated:,} rows are equal to an earlier row of the file; --dedupe drops such rows")
    if report.results:
        lines += _counted("results", report.results)
    if report.uncaptured is not None:
        lines.append(f"results without usable reasoning: {report.uncaptured}")
    if report.unanswered is not None:
        lines += _counted("of the same run, without one answer", report.fates)
        lines.append(f"named one by one: {report.unanswered}")
    if report.damage is not None:
        lines.append(f"damaged: {report.damage}; the rows before it are kept")
    if report.rejects is not None:
        lines.append(f"rejected rows: {report.rejects}")
    return "\n".join(lines)


def _named(report: ImportReport) -> Iterator[str]:
    """The first rows that a dry run would reject, and how many more there are."""
    for one in report.first_rejected:
        detail = f" ({one.detail})" if one.detail else ""
        yield f"{report.file}:{one.line}: {one.reason}{detail}; expected {one.expected}"
    more = report.rejected - len(report.first_rejected)
    if report.first_rejected and more:
        yield f"and {more:,} more; an import writes all of them down"


def _counted(title: str, counts: Any) -> list[str]:
    return [f"{title}: " + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))] if counts else []


@contextmanager
def _shown(settings: cli_context.Globals) -> Iterator[Callable[[Progress], None]]:
    """Progress on stderr: a bar for a person, a line a minute for a log, nothing when asked to be quiet."""
    if settings.live_progress:
        with _bar() as progress:
            yield progress
    else:
        yield _Minutes(quiet=not settings.progress or settings.verbosity < 0)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import", total=None, counts="")

        def show(progress: Progress) -> None:
            counts = f"{progress.rows:,} rows, {progress.added:,} added, {progress.rejected:,} rejected"
            bar.update(task, total=progress.size, completed=progress.bytes_read, counts=counts)

        yield show


class _Minutes:
    """One line a minute."""

    def __init__(self, *, quiet: bool) -> None:
        import time

        self._quiet = quiet
        self._clock = time.monotonic
        self._said_s = self._clock()

    def __call__(self, progress: Progress) -> None:
        if self._quiet or self._clock() - self._said_s < 60:
            return
        self._said_s = self._clock()
        share = f" ({progress.bytes_read * 100 // progress.size} % of the file)" if progress.size else ""
        cli_context.say(
            f"import: {progress.rows:,} rows{share}, {progress.added:,} added, {progress.rejected:,} rejected"
        )
