"""What an export is asked for, and which answers that takes."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.export.naming import manifest_of
from app.export.presets import Preset
from app.export.template import Template
from app.model.errors import UsageError
from app.model.verdicts import CAPTURED, Verdict

LOST = frozenset({Verdict.MISSING, Verdict.LEAKED, Verdict.TRUNCATED})


class Only(StrEnum):
    """Which accepted answers are taken."""

    CAPTURED = "captured"
    DONE = "done"


class Packing(StrEnum):
    """How the file is compressed."""

    PLAIN = "plain"
    GZIP = "gzip"
    ZSTD = "zstd"


class Format(StrEnum):
    """What the file is."""

    JSONL = "jsonl"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Container:
    """What lines are put into: it decides the bytes of a file that holds them."""

    format: Format = Format.JSONL
    packing: Packing = Packing.PLAIN
    preset: Preset = Preset.RUN_INFERENCE


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One dataset, to one file or to shards beside each other; `target` is None for standard output."""

    dataset: str
    target: Path | None
    only: Only = Only.CAPTURED
    packing: Packing = Packing.PLAIN
    preset: Preset = Preset.RUN_INFERENCE
    limit: int | None = None
    overwrite: bool = False
    allow_uncaptured: bool = False
    require_complete: bool = False
    manifest: bool = True
    format: Format = Format.JSONL
    shard_size: int | None = None  # rows a file; the target is then the name that the shards' names are made of
    template: Template | None = None  # of preset text
    resume: bool = False  # go on with what an export of the same file left that was cut off

    @property
    def container(self) -> Container:
        """What the lines are put into."""
        return Container(self.format, self.packing, self.preset)

    @property
    def manifest_path(self) -> Path | None:
        """Where the manifest goes: beside the file, under its whole name."""
        if self.target is None or not self.manifest:
            return None
        return manifest_of(self.target)


def takes(only: Only, verdict: Verdict) -> bool:
    """Whether an accepted answer is exported.

    `captured` takes what was captured in a field or split from content. It also takes `none_expected`: that verdict is
    given only where thinking was switched off, so that the answer is whole as it is. A `malformed` one, which only a
    reparse can make of an answer, is no answer and never taken.
    """
    match only:
        case Only.DONE:
            return verdict is not Verdict.MALFORMED
        case Only.CAPTURED:
            return verdict in CAPTURED or verdict is Verdict.NONE_EXPECTED


def lost_reasoning(verdict: Verdict) -> bool:
    """Whether an answer is without usable reasoning, or has it in the wrong column."""
    return verdict in LOST


def packing_of(name: str) -> Packing:
    """The compression that a file's name asks for."""
    suffix = Path(name).suffix
    return {".gz": Packing.GZIP, ".zst": Packing.ZSTD}.get(suffix, Packing.PLAIN)


def format_of(name: str) -> Format | None:
    """The format that a file's name asks for; None where it asks for none."""
    suffix = Path(name.removesuffix(".gz").removesuffix(".zst")).suffix
    return {".jsonl": Format.JSONL, ".json": Format.JSONL, ".parquet": Format.PARQUET}.get(suffix)


def default_name(dataset: str, file_format: Format, packing: Packing) -> str:
    """What the file of a dataset is called unless somebody names it."""
    suffix = {Packing.PLAIN: "", Packing.GZIP: ".gz", Packing.ZSTD: ".zst"}[packing]
    return f"{dataset}.{file_format}{suffix}"


def refuse_packed_table(file_format: Format, packing: Packing) -> None:
    """A table is compressed within, column by column; around it a compression would only keep readers out."""
    if file_format is Format.PARQUET and packing is not Packing.PLAIN:
        raise UsageError(f"A parquet file is compressed inside, so it takes no {packing}. Leave that out.")
