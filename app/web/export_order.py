"""An order for an export, read from a form or an address as the command reads its options."""

from app.export.folder import ExportFolder, checked
from app.export.presets import Preset
from app.export.request import (
    ExportRequest,
    Format,
    Only,
    Packing,
    default_name,
    format_of,
    packing_of,
    refuse_packed_table,
)
from app.export.template import Template, read_template
from app.model.errors import UsageError
from app.web.asking import Said

CHOICES = ("dataset", "only", "preset", "format", "packing", "shard_size", "template", "end_token")
KEYS = (*CHOICES, "name", "overwrite", "allow_uncaptured")


def request_of(folder: ExportFolder, said: Said) -> ExportRequest:
    """The order, as the command would understand it."""
    dataset = said.needed("dataset")
    file_format = said.word("format", Format) or Format.JSONL
    packing = said.word("packing", Packing) or Packing.PLAIN
    refuse_packed_table(file_format, packing)
    preset = said.word("preset", Preset) or Preset.RUN_INFERENCE
    name = said.text("name")
    name = default_name(dataset, file_format, packing) if name is None else checked(name)
    _refuse_name(name, file_format, packing)
    return ExportRequest(
        dataset=dataset,
        target=folder.target(name),
        only=said.word("only", Only) or Only.CAPTURED,
        packing=packing,
        preset=preset,
        overwrite=said.flag("overwrite"),
        allow_uncaptured=said.flag("allow_uncaptured"),
        format=file_format,
        shard_size=said.number("shard_size", least=1),
        template=_template(folder, said, preset),
    )


def _refuse_name(name: str, file_format: Format, packing: Packing) -> None:
    if name.endswith((".part", ".manifest.json")):
        raise UsageError(f"{name} would be taken for something else. Name it .jsonl, .jsonl.gz or .parquet.")
    if format_of(name) not in (None, file_format):
        raise UsageError(f"The name {name} asks for {format_of(name)}, and the form for {file_format}.")
    if packing_of(name) not in (Packing.PLAIN, packing):
        raise UsageError(f"The name {name} asks for {packing_of(name)}, and the form for {packing}.")


def _template(folder: ExportFolder, said: Said, preset: Preset) -> Template | None:
    """A template is read from the folder of the store alone: nobody sends one."""
    if preset is not Preset.TEXT:
        return None
    name, end_token = said.text("template"), said.text("end_token")
    if name is None or end_token is None:
        raise UsageError(
            f"Preset text takes a chat template and an end token. Lay the template into {folder.path / 'templates'} "
            "under a name in .jinja, and choose it here."
        )
    return read_template(folder.template(name), end_token)
