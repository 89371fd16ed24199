"""`thinkledger export`: the accepted answers of a dataset as JSON lines, with a manifest."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context
from worker.option_values import PRESETS

if TYPE_CHECKING:
    from app.export.census import Census
    from app.export.exporting import Listener, Report
    from app.export.request import ExportRequest, Packing

STDOUT = "-"


def register(app: typer.Typer) -> None:
    app.command("export", help="Write the accepted answers of a dataset as JSON lines, with a manifest.")(export)


def export(
    ctx: typer.Context,
    dataset: Annotated[list[str] | None, typer.Option(metavar="NAME", help="The dataset; repeat for several.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PATH", help="The file; - is stdout, default ./NAME.jsonl."),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(click_type=click.Choice(PRESETS), help="Which reader the rows are for."),
    ] = PRESETS[0],
    expand_turns: Annotated[
        bool, typer.Option("--expand-turns", help="With specforge: a row a turn, its history without reasoning.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            click_type=click.Choice(["captured", "done"]), help="Which accepted answers; captured unless said."
        ),
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress with gzip, as a name in .gz does.")] = False,
    zstd: Annotated[bool, typer.Option("--zstd", help="Compress with zstd, as a name in .zst does.")] = False,
    limit: Annotated[int | None, typer.Option(min=0, help="At most so many rows.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an export that was cut off, as of the moment it began.")
    ] = False,
    allow_incomplete: Annotated[
        bool,
        typer.Option("--allow-incomplete", help="Exit with 0 although rows are not there yet or lost their reasoning."),
    ] = False,
    require_complete: Annotated[
        bool, typer.Option("--require-complete", help="Export nothing from a dataset that is not finished.")
    ] = False,
    allow_uncaptured: Annotated[
        bool, typer.Option("--allow-uncaptured", help="With --only done: take answers without reasoning along.")
    ] = False,
    no_manifest: Annotated[bool, typer.Option("--no-manifest", help="Write no manifest beside the file.")] = False,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check an exported file against its manifest and the store.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object; stderr with -o -.")] = False,
) -> None:
    """Export datasets one after another, or check a file."""
    settings = cli_context.context(ctx)
    if check is not None:
        cli_context.run(lambda: _check(settings.db, check))
        return
    from app.export.presets import Preset
    from app.export.request import ExportRequest, Only

    if resume and output == STDOUT:
        raise UsageError("--resume goes on with a file, so it does not go with -o -.")
    if expand_turns and not preset.startswith(Preset.SPECFORGE):
        raise UsageError(f"--expand-turns goes with --preset {Preset.SPECFORGE}; {preset} has one form only.")
    packing = _packing(output, gzip=gzip, zstd=zstd)
    requests = [
        ExportRequest(
            dataset=name,
            target=_target(name, output, packing),
            preset=Preset.SPECFORGE_TURNS if expand_turns else Preset(preset),
            only=Only(only or Only.CAPTURED),
            packing=packing,
            limit=limit,
            overwrite=overwrite,
            resume=resume,
            allow_uncaptured=allow_uncaptured,
            require_complete=require_complete,
            manifest=not no_manifest,
        )
        for name in _names(dataset, output)
    ]
    talk = _Talk(settings, as_json=as_json, allow_incomplete=allow_incomplete, asked_for_captured=only is not None)
    cli_context.run(lambda: _export(settings.db, requests, talk))


def _names(dataset: list[str] | None, output: str | None) -> list[str]:
    names = list(dict.fromkeys(dataset or []))
    if not names:
        raise UsageError("Say what to export: --dataset NAME.")
    if len(names) > 1 and output is not None:
        raise UsageError("--output names one file. Export several datasets without it, each to ./NAME.jsonl.")
    return names


def _packing(output: str | None, *, gzip: bool, zstd: bool) -> "Packing":
    from app.export.request import Packing, packing_of

    if gzip and zstd:
        raise UsageError("--gzip and --zstd exclude each other.")
    said = Packing.GZIP if gzip else Packing.ZSTD if zstd else None
    by_name = Packing.PLAIN if output in (None, STDOUT) else packing_of(str(output))
    if said is not None and by_name not in (Packing.PLAIN, said):
        raise UsageError(f"The name {output} asks for {by_name}, and --{said} for {said}.")
    return said or by_name


def _target(name: str, output: str | None, packing: "Packing") -> Path | None:
    if output == STDOUT:
        return None
    suffix = {"gzip": ".gz", "zstd": ".zst"}.get(packing, "")
    return Path(output) if output is not None else Path(f"{name}.jsonl{suffix}")


async def _export(db: str, requests: "list[ExportRequest]", talk: "_Talk") -> Exit:
    from app.export.exporting import export_dataset
    from app.store.store import open_store

    code = Exit.DONE
    async with open_store(db) as store:
        for request in requests:
            stream = sys.stdout.buffer if request.target is None else None
            report = await export_dataset(store, request, stream=stream, listener=talk.listener(request))
            if stream is not None:
                stream.flush()
            talk.done(request, report)
            if not talk.is_whole(report):
                code = Exit.INCOMPLETE
    return code


class _Talk:
    """What is said about an export, and where."""

    def __init__(
        self, settings: cli_context.Globals, *, as_json: bool, allow_incomplete: bool, asked_for_captured: bool
    ) -> None:
        self._settings = settings
        self._as_json = as_json
        self.allow_incomplete = allow_incomplete
        self._asked_for_captured = asked_for_captured

    def listener(self, request: "ExportRequest") -> "Listener":
        """Numbers first; then, in a terminal, how far it is."""
        from app.export.exporting import Listener

        def on_census(census: "Census") -> None:
            from app.export.presets import SHAPES

            for line in _census(census, request):
                self._say(line)
            warning = SHAPES[request.preset].warning
            if warning is not None:
                self._say(f"warning: {warning}")

        def on_resume(rows: int) -> None:
            self._say(f"{request.dataset}: goes on after {rows:,} rows of an export that was cut off")

        def on_unrecorded(error: Exception) -> None:
            cli_context.say(f"The file is whole, but the store could not note it down: {error}")

        on_rows = _counting() if self._settings.live_progress else lambda _rows: None
        return Listener(on_census, on_resume, on_rows, on_unrecorded)

    def is_whole(self, report: "Report") -> bool:
        """Whether nothing is left out that was not asked to be left out."""
        from app.export.request import LOST

        lost = sum(report.left_out.get(verdict, 0) for verdict in LOST)
        return self.allow_incomplete or (report.complete and (lost == 0 or self._asked_for_captured))

    def done(self, request: "ExportRequest", report: "Report") -> None:
        """The result: one sentence on stderr, or one object."""
        if self._as_json:
            self._object(request, report)
            return
        from app.export.request import packing_of
        from app.progress import wording
        from app.spool.looking import waiting_words

        where = request.target or "stdout"
        if request.target is not None and packing_of(request.target.name) is not request.packing:
            self._say(
                f"{where} holds {request.packing} data although its name does not say so, as --{request.packing} asks."
            )
        self._say(
            f"{report.written.rows:,} rows, {wording.size(report.written.bytes)} written to {where} "
            f"as of seq {report.census.seq:,}; sha256 {report.written.sha256}"
        )
        if not self.is_whole(report):
            self._say("Exit code 6: rows are left out that nobody asked to leave out (--allow-incomplete makes it 0).")
        if report.in_spool:
            self._say(waiting_words(report.in_spool))
        if report.with_tool_calls:
            self._say(f"{report.with_tool_calls:,} rows have a seventh key `tool_calls`: their calls came in a field.")

    def _say(self, text: str) -> None:
        """Talk, unless only errors are wanted; then the exit code and the manifest tell."""
        if self._settings.verbosity >= 0:
            cli_context.say(text)

    def _object(self, request: "ExportRequest", report: "Report") -> None:
        written = report.written
        facts = {
            "dataset": request.dataset, "file": None if request.target is None else str(request.target),
            "manifest": None if report.manifest is None else str(report.manifest), "complete": report.complete,
            "seq": report.census.seq, "jobs": report.census.total, "rows": written.rows, "bytes": written.bytes,
            "sha256": written.sha256, "left_out": report.left_out, "with_tool_calls": report.with_tool_calls,
            "in_spool": report.in_spool,
        }  # fmt: skip
        if request.target is None:
            cli_context.say(json.dumps({"schema": 1} | facts))
        else:
            cli_context.put_json(facts)


def _census(census: "Census", request: "ExportRequest") -> Iterator[str]:
    """What will be in the file and what will not, and loudly whether the dataset is finished."""
    from app.export.presets import EACH_TURN
    from app.model.states import JobState

    taken, left_out = census.taken(request.only), census.left_out(request.only)
    rows = taken if request.limit is None else min(taken, request.limit)
    yield f"{census.name}: {census.total:,} jobs, {census.state(JobState.DONE):,} done, as of seq {census.seq:,}"
    if rows < taken:
        left_out["over_limit"] = taken - rows
    why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()) if count)
    word = "jobs, a row a turn" if request.preset in EACH_TURN else "rows"
    yield f"{census.name}: {rows:,} {word}; left out {sum(left_out.values()):,}" + (f": {why}" if why else "")
    if not census.complete:
        yield f"{census.name}: NOT FINISHED. The file holds what is there now; its manifest says complete: false."


def _counting() -> Callable[[int], None]:
    """A count that stays on its line, ten times a second at most."""
    shown = 0.0

    def on_rows(rows: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > 0.1:
            shown = time.monotonic()
            sys.stderr.write(f"\r{rows:,} rows \r")
            sys.stderr.flush()

    return on_rows


async def _check(db: str, file: Path) -> None:
    from app.export.check import check_against, check_file, load_manifest
    from app.store.place import locate
    from app.store.store import open_store

    manifest = load_manifest(file)
    check_file(file, manifest)
    cli_context.say(f"{file} is what its manifest says: {manifest.rows:,} whole rows.")
    if not locate(db).path.exists():
        cli_context.say("There is no store to compare it with.")
        return
    async with open_store(db) as store:
        same = await check_against(store, manifest)
    cli_context.say(
        f"The store gives the same lines as of seq {manifest.seq:,}."
        if same
        else "The store is another one, or was restored since; it was not compared."
    )
