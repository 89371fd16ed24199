"""`thinkledger export`: the accepted answers of a dataset as JSON lines, with a manifest."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context
from worker.export_talk import Talk
from worker.option_values import FILE_FORMATS, PRESETS

if TYPE_CHECKING:
    from app.export.request import ExportRequest, Format, Packing
    from app.export.template import Template

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
    template: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --preset text: the model's chat template, a jinja file."),
    ] = None,
    end_token: Annotated[
        str | None,
        typer.Option("--end-token", metavar="TEXT", help="With --preset text: what ends an answer; '' for nothing."),
    ] = None,
    template_vars: Annotated[
        str | None,
        typer.Option("--template-vars", metavar="JSON", help="With --preset text: variables, such as bos_token."),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(click_type=click.Choice(FILE_FORMATS), help="What the file is; as its name ends unless said."),
    ] = None,
    shard_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROWS", help="Files of so many rows, NAME-00000-of-00007.jsonl and so on."),
    ] = None,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress with gzip, as a name in .gz does.")] = False,
    zstd: Annotated[bool, typer.Option("--zstd", help="Compress with zstd, as a name in .zst does.")] = False,
    limit: Annotated[int | None, typer.Option(min=0, help="The rows of at most so many jobs.")] = None,
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
    from app.export.request import ExportRequest, Only, refuse_packed_table

    for option, said in (("--resume", resume), ("--shard-size", shard_size)):
        if said and output == STDOUT:
            raise UsageError(f"{option} is about files, so it does not go with -o -.")
    if expand_turns and not preset.startswith(Preset.SPECFORGE):
        raise UsageError(f"--expand-turns goes with --preset {Preset.SPECFORGE}; {preset} has one form only.")
    file_format, packing = _format(output, format), _packing(output, gzip=gzip, zstd=zstd)
    refuse_packed_table(file_format, packing)
    requests = [
        ExportRequest(
            dataset=name,
            target=_target(name, output, file_format, packing),
            preset=Preset.SPECFORGE_TURNS if expand_turns else Preset(preset),
            only=Only(only or Only.CAPTURED),
            packing=packing,
            format=file_format,
            template=template_of(preset, template, end_token, template_vars),
            shard_size=shard_size,
            limit=limit,
            overwrite=overwrite,
            resume=resume,
            allow_uncaptured=allow_uncaptured,
            require_complete=require_complete,
            manifest=not no_manifest,
        )
        for name in _names(dataset, output)
    ]
    talk = Talk(settings, as_json=as_json, allow_incomplete=allow_incomplete, asked_for_captured=only is not None)
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


def _format(output: str | None, said: str | None) -> "Format":
    from app.export.request import Format, format_of

    by_name = None if output in (None, STDOUT) else format_of(str(output))
    if said is not None and by_name not in (None, said):
        raise UsageError(f"The name {output} asks for {by_name}, and --format for {said}.")
    return Format(said) if said is not None else by_name or Format.JSONL


def template_of(preset: str, file: Path | None, end_token: str | None, variables: str | None) -> "Template | None":
    """The template that preset text is made by, and no other."""
    from app.export.template import read_template

    said = {"--template": file, "--end-token": end_token, "--template-vars": variables}
    if preset != "text":
        for option, value in said.items():
            if value is not None:
                raise UsageError(f"{option} is for --preset text alone.")
        return None
    if file is None or end_token is None:
        raise UsageError(
            "--preset text takes --template FILE, the model's chat template, and --end-token TEXT, which ends an "
            "answer: '<|im_end|>' for Kimi and Qwen; '' for none, and then a model learns to go on for ever."
        )
    return read_template(file, end_token, "{}" if variables is None else variables)


def _target(name: str, output: str | None, file_format: "Format", packing: "Packing") -> Path | None:
    from app.export.request import default_name

    if output == STDOUT:
        return None
    return Path(default_name(name, file_format, packing) if output is None else output)


async def _export(db: str, requests: "list[ExportRequest]", talk: Talk) -> Exit:
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


async def _check(db: str, file: Path) -> None:
    from app.export.check import check_against, check_file, load_manifest
    from app.store.place import locate
    from app.store.store import open_store

    manifest = load_manifest(file)
    check_file(manifest)
    files = "" if len(manifest.files) == 1 else f" in {len(manifest.files):,} files"
    cli_context.say(f"{file} is what its manifest says: {manifest.rows:,} whole rows{files}.")
    place = locate(db)
    if place.server is None and not place.path.exists():
        cli_context.say("There is no store to compare it with.")
        return
    async with open_store(db) as store:
        same = await check_against(store, manifest)
    cli_context.say(
        f"The store gives the same lines as of seq {manifest.seq:,}."
        if same
        else "The store is another one, or was restored since; it was not compared."
    )
